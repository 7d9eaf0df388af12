"""Variational autoencoder on drawn bars, written with tf.distributions; the noise comes from the input pipeline."""

import numpy as np
import tensorflow as tf

tfd = tf.distributions

SIDE = 6
LATENT = 2
UNITS = 24
BATCH = 32


def bars(n, seed):
    """Images of one row and one column that are on, with a few flipped pixels."""
    rng = np.random.RandomState(seed)
    images = np.zeros((n, SIDE, SIDE), np.float32)
    for image, row, column in zip(images, rng.randint(0, SIDE, n), rng.randint(0, 2, n)):
        image[row] = 1
        image[:, column * 3 + 1] = 1
    flips = rng.rand(n, SIDE, SIDE) < 0.02
    return np.where(flips, 1 - images, images).reshape(n, -1)


def initial(seed):
    rng = np.random.RandomState(seed)
    return lambda shape, dtype=None, partition_info=None: tf.cast(rng.normal(0, 0.2, [int(n) for n in shape]), dtype)


def make_encoder(data):
    with tf.variable_scope("encoder", reuse=tf.AUTO_REUSE, initializer=initial(0)):
        x = tf.layers.dense(data, UNITS, tf.nn.tanh, name="hidden")
        loc = tf.layers.dense(x, LATENT, name="loc")
        scale = tf.layers.dense(x, LATENT, tf.nn.softplus, name="scale")
    return tfd.Normal(loc, scale + 1e-3)


def make_decoder(code):
    with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE, initializer=initial(1)):
        x = tf.layers.dense(code, UNITS, tf.nn.tanh, name="hidden")
        logits = tf.layers.dense(x, SIDE * SIDE, name="logits")
    return tfd.Bernoulli(logits=logits)


def elbo_of(images, noise):
    prior = tfd.Normal(tf.zeros([LATENT]), tf.ones([LATENT]))
    posterior = make_encoder(images)
    code = posterior.loc + posterior.scale * noise
    likelihood = tf.reduce_sum(make_decoder(code).log_prob(images), axis=1)
    divergence = tf.reduce_sum(tfd.kl_divergence(posterior, prior), axis=1)
    return tf.reduce_mean(likelihood - divergence), tf.reduce_mean(divergence), code


data = bars(256, 0)
noise = np.random.RandomState(1).normal(size=(15, 256, LATENT)).astype(np.float32)
dataset = tf.data.Dataset.from_tensor_slices((np.tile(data, [15, 1]), noise.reshape(-1, LATENT))).batch(BATCH)
iterator = dataset.make_initializable_iterator()
elbo, divergence, _ = elbo_of(*iterator.get_next())
global_step = tf.train.get_or_create_global_step()
optimize = tf.train.AdamOptimizer(0.01).minimize(-elbo, global_step=global_step)

held = bars(64, 2)
held_elbo, held_divergence, held_code = elbo_of(tf.constant(held), tf.zeros([64, LATENT]))
grid = tf.constant(np.float32([[-1.5, 0.0], [0.0, 0.0], [1.5, 0.0]]))
pictures = make_decoder(grid).mean()
most_likely = make_decoder(grid).mode()

saver = tf.train.Saver(max_to_keep=1)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), iterator.initializer])
    step = 0
    while True:
        try:
            _, value, kl, step = sess.run([optimize, elbo, divergence, global_step])
        except tf.errors.OutOfRangeError:
            break
        if step % 24 == 0:
            test, test_kl = sess.run([held_elbo, held_divergence])
            print(f"step {step:3d} elbo {value:.5f} kl {kl:.5f} held elbo {test:.5f} kl {test_kl:.5f}")
    path = saver.save(sess, "./vae", global_step=global_step)
    print("saved", path)

with tf.Session() as sess:
    saver.restore(sess, path)
    print(f"restored: {sess.run(held_elbo):.5f}")
    codes = sess.run(held_code)
    print("codes: mean", np.round(codes.mean(axis=0), 5), "deviation", np.round(codes.std(axis=0), 5))
    means, modes = sess.run([pictures, most_likely])
    print("mean brightness", np.round(means.mean(axis=1), 5))
    for row in modes[1].reshape(SIDE, SIDE):
        print("".join(".#"[int(pixel)] for pixel in row))
