"""Denoising convolutional autoencoder, judged by SSIM and PSNR; graph saved and imported again from its meta file."""

import os

import numpy as np
import tensorflow as tf

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
tf.compat.v1.disable_eager_execution()

SIZE = 16
BATCH_SIZE = 16


def blobs(n, seed):
    """Images of two soft spots."""
    rng = np.random.RandomState(seed)
    row, column = np.mgrid[0:SIZE, 0:SIZE]
    images = np.zeros((n, SIZE, SIZE))
    for _ in range(2):
        y, x, width = rng.uniform(3, SIZE - 3, n), rng.uniform(3, SIZE - 3, n), rng.uniform(1.5, 3.0, n)
        distance = (row - y[:, None, None]) ** 2 + (column - x[:, None, None]) ** 2
        images += np.exp(-distance / (2 * width[:, None, None] ** 2))
    clean = images.clip(0, 1)[..., None].astype(np.float32)
    noisy = (clean + rng.normal(0, 0.2, clean.shape)).clip(0, 1).astype(np.float32)
    return clean, noisy


def weights(name, shape, seed):
    value = np.random.RandomState(seed).normal(0, np.sqrt(2.0 / np.prod(shape[:-1])), shape).astype(np.float32)
    return tf.compat.v1.get_variable(name, initializer=value)


def conv(x, filters, seed, name):
    with tf.compat.v1.variable_scope(name):
        w = weights("w", [3, 3, int(x.shape[-1]), filters], seed)
        b = tf.compat.v1.get_variable("b", [filters], initializer=tf.zeros_initializer())
        return tf.nn.elu(tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME") + b)


def deconv(x, filters, seed, name, activation):
    with tf.compat.v1.variable_scope(name):
        w = weights("w", [3, 3, filters, int(x.shape[-1])], seed)
        b = tf.compat.v1.get_variable("b", [filters], initializer=tf.zeros_initializer())
        size = 2 * int(x.shape[1])
        output_shape = tf.stack([tf.shape(x)[0], size, size, filters])
        y = tf.nn.conv2d_transpose(x, w, output_shape, strides=[1, 2, 2, 1], padding="SAME")
        return activation(tf.reshape(y, [-1, size, size, filters]) + b)


noisy = tf.compat.v1.placeholder(tf.float32, [None, SIZE, SIZE, 1], name="noisy")
clean = tf.compat.v1.placeholder(tf.float32, [None, SIZE, SIZE, 1], name="clean")
encoded = conv(conv(noisy, 8, 0, "conv1"), 12, 1, "conv2")
hidden = deconv(encoded, 8, 2, "deconv1", tf.nn.elu)
decoded = deconv(hidden, 1, 3, "deconv2", tf.sigmoid)
decoded = tf.identity(decoded, name="decoded")

mse = tf.reduce_mean(tf.math.squared_difference(decoded, clean), name="mse")
ssim = tf.reduce_mean(tf.image.ssim(decoded, clean, max_val=1.0))
psnr = tf.reduce_mean(tf.image.psnr(decoded, clean, max_val=1.0))
variation = tf.reduce_mean(tf.image.total_variation(decoded)) / SIZE**2
loss = 10.0 * mse + 0.3 * (1.0 - ssim)
global_step = tf.compat.v1.train.get_or_create_global_step()
rate = tf.compat.v1.train.cosine_decay(0.02, global_step, decay_steps=60)
train_op = tf.compat.v1.train.AdamOptimizer(rate).minimize(loss, global_step=global_step)

train_clean, train_noisy = blobs(160, 0)
test_clean, test_noisy = blobs(32, 1)
test = {noisy: test_noisy, clean: test_clean}
saver = tf.compat.v1.train.Saver()
with tf.compat.v1.Session() as sess:
    sess.run(tf.compat.v1.global_variables_initializer())
    before = sess.run([mse, ssim, psnr], {decoded: test_noisy, clean: test_clean})
    print(f"noisy: mse {before[0]:.5f} ssim {before[1]:.5f} psnr {before[2]:.5f}")
    for epoch in range(6):
        for i in range(0, len(train_clean), BATCH_SIZE):
            part = slice(i, i + BATCH_SIZE)
            _, value = sess.run([train_op, loss], {noisy: train_noisy[part], clean: train_clean[part]})
        scores = sess.run([mse, ssim, psnr, variation], test)
        print(
            f"epoch {epoch} loss {value:.5f} mse {scores[0]:.5f} ssim {scores[1]:.5f} psnr {scores[2]:.5f} "
            f"variation {scores[3]:.5f}"
        )
    saver.save(sess, os.path.join("checkpoints", "autoencoder"), global_step=global_step)
print(sorted(name for name in os.listdir("checkpoints") if not name.startswith("checkpoint.")))

tf.compat.v1.reset_default_graph()
with tf.compat.v1.Session() as sess:
    latest = tf.train.latest_checkpoint("checkpoints")
    importer = tf.compat.v1.train.import_meta_graph(latest + ".meta")
    importer.restore(sess, latest)
    graph = tf.compat.v1.get_default_graph()
    decoded = graph.get_tensor_by_name("decoded:0")
    result = sess.run(decoded, {"noisy:0": test_noisy[:4]})
    print("restored", result.shape, np.round(result.mean(axis=(1, 2, 3)), 5))
