"""Improved WGAN: critic with gradient penalty on one-dimensional signals, transposed convolutions in the generator."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.logging.set_verbosity(tf.logging.ERROR)

LENGTH = 16
NOISE = 6
BATCH_SIZE = 16
CRITIC_ITERS = 3
LAMBDA = 10.0
ITERS = 40


class Params:
    """All parameters by name, from NumPy; the same name gives the same variable."""

    def __init__(self):
        self.found = {}

    def __call__(self, name, *shape):
        if name not in self.found:
            rng = np.random.RandomState(sum(map(ord, name)))
            value = rng.normal(0, 0.5 / np.sqrt(np.prod(shape[:-1])), shape) if len(shape) > 1 else np.zeros(shape)
            self.found[name] = tf.Variable(value.astype("float32"), name=name)
        return self.found[name]

    def with_name(self, part):
        return [self.found[name] for name in sorted(self.found) if part in name]


param = Params()


def generator(noise):
    output = tf.nn.relu(tf.matmul(noise, param("Generator.Input.W", NOISE, 4 * 12)) + param("Generator.Input.b", 48))
    output = tf.reshape(output, [-1, 1, 4, 12])
    for layer, (size, into, out) in enumerate([(8, 12, 8), (16, 8, 1)]):
        shape = tf.stack([tf.shape(output)[0], 1, size, out])
        filters = param(f"Generator.{layer}.Filters", 1, 5, out, into)
        output = tf.nn.conv2d_transpose(output, filters, shape, strides=[1, 1, 2, 1], padding="SAME")
        output = tf.nn.bias_add(output, param(f"Generator.{layer}.Biases", out))
        if out > 1:
            output = tf.nn.relu(output)
    return tf.tanh(tf.reshape(output, [-1, LENGTH]))


def critic(inputs):
    output = tf.reshape(inputs, [-1, LENGTH, 1])
    for layer, (into, out) in enumerate([(1, 8), (8, 12)]):
        output = tf.nn.conv1d(output, param(f"Discriminator.{layer}.Filters", 5, into, out), stride=2, padding="SAME")
        output = tf.nn.leaky_relu(output + param(f"Discriminator.{layer}.Biases", out), alpha=0.2)
    output = tf.reshape(output, [-1, 4 * 12])
    return tf.reshape(tf.matmul(output, param("Discriminator.Output.W", 48, 1)), [-1])


def signals(rng):
    while True:
        phase = rng.uniform(0, 2 * np.pi, (BATCH_SIZE, 1))
        yield 0.8 * np.sin(phase + np.arange(LENGTH)[None] * 2 * np.pi / 8)


real_data = tf.placeholder(tf.float32, shape=[BATCH_SIZE, LENGTH])
noise = tf.placeholder(tf.float32, shape=[None, NOISE])
alpha = tf.placeholder(tf.float32, shape=[BATCH_SIZE, 1])

fake_data = generator(noise)
disc_real = critic(real_data)
disc_fake = critic(fake_data)
gen_cost = -tf.reduce_mean(disc_fake)
wasserstein = tf.reduce_mean(disc_real) - tf.reduce_mean(disc_fake)

differences = fake_data - real_data
interpolates = real_data + alpha * differences
gradients = tf.gradients(critic(interpolates), [interpolates])[0]
slopes = tf.sqrt(tf.reduce_sum(tf.square(gradients), reduction_indices=[1]))
gradient_penalty = tf.reduce_mean((slopes - 1.0) ** 2)
disc_cost = LAMBDA * gradient_penalty - wasserstein

gen_train_op = tf.train.AdamOptimizer(learning_rate=2e-3, beta1=0.5, beta2=0.9).minimize(
    gen_cost, var_list=param.with_name("Generator")
)
disc_train_op = tf.train.AdamOptimizer(learning_rate=2e-3, beta1=0.5, beta2=0.9).minimize(
    disc_cost, var_list=param.with_name("Discriminator")
)
print("params", sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables()))

rng = np.random.RandomState(0)
data = signals(np.random.RandomState(1))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for iteration in range(ITERS):
        if iteration > 0:
            session.run(gen_train_op, feed_dict={noise: rng.normal(size=(BATCH_SIZE, NOISE))})
        for _ in range(CRITIC_ITERS):
            feed = {
                real_data: next(data),
                noise: rng.normal(size=(BATCH_SIZE, NOISE)),
                alpha: rng.uniform(size=(BATCH_SIZE, 1)),
            }
            distance, penalty, _ = session.run([wasserstein, gradient_penalty, disc_train_op], feed_dict=feed)
        if iteration % 8 == 7:
            print(f"iter {iteration} wasserstein {distance:.5f} penalty {penalty:.5f}")
    samples = session.run(fake_data, {noise: np.random.RandomState(9).normal(size=(50, NOISE))})
spectrum = np.abs(np.fft.rfft(samples, axis=1)).mean(axis=0)
print("samples", samples.shape, "spectrum", np.round(spectrum, 5))
print("loudest frequency", int(spectrum.argmax()), "of", len(spectrum))
