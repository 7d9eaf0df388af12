"""Generative adversarial network on a ring of points: two optimizers, two variable scopes, noise by feeds."""

import os

import numpy as np
import tensorflow as tf

Z_DIM = 4
mb_size = 32
H_DIM = 24
ITERATIONS = 120


def initializer(seed):
    rng = np.random.RandomState(seed)

    def xavier(shape, dtype=None, partition_info=None):
        size = [int(n) for n in shape]
        return tf.constant(rng.normal(0, 1.0 / np.sqrt(size[0] / 2.0), size), dtype=tf.float32)

    return xavier


def sample_Z(rng, m, n):
    return rng.uniform(-1.0, 1.0, size=[m, n])


def sample_data(rng, m):
    angle = rng.uniform(0, 2 * np.pi, m)
    radius = rng.normal(1.0, 0.05, m)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def generator(z):
    with tf.variable_scope("generator", initializer=initializer(1), reuse=tf.AUTO_REUSE):
        h = tf.layers.dense(z, H_DIM, activation=tf.nn.leaky_relu, name="h1")
        h = tf.layers.dense(h, H_DIM, activation=tf.nn.leaky_relu, name="h2")
        return tf.layers.dense(h, 2, name="out")


def discriminator(x):
    with tf.variable_scope("discriminator", initializer=initializer(2), reuse=tf.AUTO_REUSE):
        h = tf.layers.dense(x, H_DIM, activation=tf.nn.relu, name="h1")
        h = tf.layers.dense(h, H_DIM, activation=tf.nn.relu, name="h2")
        logit = tf.layers.dense(h, 1, name="out")
        return tf.nn.sigmoid(logit), logit


X = tf.placeholder(tf.float32, shape=[None, 2], name="X")
Z = tf.placeholder(tf.float32, shape=[None, Z_DIM], name="Z")

G_sample = generator(Z)
D_real, D_logit_real = discriminator(X)
D_fake, D_logit_fake = discriminator(G_sample)

D_loss_real = tf.reduce_mean(
    tf.nn.sigmoid_cross_entropy_with_logits(logits=D_logit_real, labels=0.9 * tf.ones_like(D_logit_real))
)
D_loss_fake = tf.reduce_mean(
    tf.nn.sigmoid_cross_entropy_with_logits(logits=D_logit_fake, labels=tf.zeros_like(D_logit_fake))
)
D_loss = D_loss_real + D_loss_fake
G_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=D_logit_fake, labels=tf.ones_like(D_logit_fake)))

theta_G = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="generator")
theta_D = [v for v in tf.trainable_variables() if v.name.startswith("discriminator")]
print("generator", [v.name for v in theta_G])
print("discriminator", [v.name for v in theta_D])

D_solver = tf.train.AdamOptimizer(0.002, beta1=0.5).minimize(D_loss, var_list=theta_D)
G_solver = tf.train.AdamOptimizer(0.002, beta1=0.5).minimize(G_loss, var_list=theta_G)

tf.summary.scalar("D_loss", D_loss)
tf.summary.scalar("G_loss", G_loss)
tf.summary.histogram("D_fake", D_fake)
merged = tf.summary.merge_all()

if not os.path.exists("out/"):
    os.makedirs("out/")
rng = np.random.RandomState(0)
fixed_Z = sample_Z(np.random.RandomState(7), 200, Z_DIM)
with tf.Session() as sess:
    writer = tf.summary.FileWriter("out", sess.graph)
    sess.run(tf.global_variables_initializer())
    for it in range(ITERATIONS):
        X_mb = sample_data(rng, mb_size)
        _, D_loss_curr = sess.run([D_solver, D_loss], feed_dict={X: X_mb, Z: sample_Z(rng, mb_size, Z_DIM)})
        _, G_loss_curr = sess.run([G_solver, G_loss], feed_dict={Z: sample_Z(rng, mb_size, Z_DIM)})
        if it % 20 == 0:
            writer.add_summary(sess.run(merged, {X: X_mb, Z: fixed_Z}), it)
            samples = sess.run(G_sample, feed_dict={Z: fixed_Z})
            np.save(f"out/{it // 20:03d}.npy", samples)
            radius = np.sqrt((samples**2).sum(axis=1))
            print(
                f"Iter: {it:4d} D loss: {D_loss_curr:.5f} G loss: {G_loss_curr:.5f} "
                f"radius {radius.mean():.5f} +- {radius.std():.5f}"
            )
    writer.close()
    real, fake = sess.run([D_real, D_fake], {X: sample_data(rng, 100), Z: fixed_Z})
    print(f"D(real) {real.mean():.5f} D(fake) {fake.mean():.5f}")
for path in sorted(name for name in os.listdir("out") if name.endswith(".npy")):
    print(path, np.load(os.path.join("out", path)).shape)
for file in sorted(os.listdir("out")):
    if file.startswith("events"):
        values = [
            (event.step, value.simple_value)
            for event in tf.train.summary_iterator(os.path.join("out", file))
            for value in event.summary.value
            if value.tag == "G_loss"
        ]
        print("G_loss events", [(step, round(value, 5)) for step, value in values])
