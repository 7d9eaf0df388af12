"""Adversarial networks on the original and on towerstrat. Runs under Python 3.6 too.

A case is a function of the namespace ``tf`` that builds a model and returns tensors, of which ``run`` keeps values, and
gradients by all trainable variables. What is drawn at random does not reach them: discriminators are linear, so that
their slopes are the same everywhere.
"""

import numpy as np

from tests.golden.plain_values import numbers

BATCH, NOISE, DATA, CLASSES = 4, 3, 2, 3


def dense(tf, x, name, units, **kwargs):
    kernel = tf.get_variable(name + "/kernel", [x.shape.as_list()[-1], units], **kwargs)
    return tf.matmul(x, kernel) + tf.get_variable(name + "/bias", [units])


def generator(tf):
    return lambda z: tf.tanh(dense(tf, z, "g", DATA, regularizer=lambda v: 0.1 * tf.reduce_sum(v * v)))


def discriminator(tf):
    return lambda x, z: dense(tf, x, "d", 1)


def classifier(tf):
    return lambda x, z: (dense(tf, x, "d", 1), dense(tf, x, "c", CLASSES))


def model(tf):
    gan = tf.contrib.gan
    return gan.gan_model(generator(tf), discriminator(tf), numbers(BATCH, DATA), numbers(BATCH, NOISE))


def loss(generating, judging, **kwargs):
    def case(tf):
        of = tf.contrib.gan.losses
        made = model(tf)
        found = tf.contrib.gan.gan_loss(
            made, getattr(of, generating), getattr(of, judging), add_summaries=False, **kwargs
        )
        return list(found) + [made.generated_data, made.discriminator_gen_outputs, made.discriminator_real_outputs]

    return case


def single(name, *arguments, **kwargs):
    def case(tf):
        values = [tf.constant(numbers(BATCH, 1, key=i)) for i in range(arguments[0])]
        return [getattr(tf.contrib.gan.losses.wargs, name)(*values, **kwargs)]

    return case


def acgan(tf):
    gan = tf.contrib.gan
    labels = np.eye(CLASSES, dtype=np.float32)[[0, 1, 2, 0]]
    made = gan.acgan_model(generator(tf), classifier(tf), numbers(BATCH, DATA), numbers(BATCH, NOISE), labels)
    return gan.gan_loss(made, aux_cond_generator_weight=0.5, aux_cond_discriminator_weight=2.0, add_summaries=False)


def cyclegan(tf):
    gan = tf.contrib.gan
    made = gan.cyclegan_model(generator(tf), discriminator(tf), numbers(BATCH, DATA), numbers(BATCH, DATA, key=1))
    found = gan.cyclegan_loss(made, add_summaries=False)
    return list(found.loss_x2y) + list(found.loss_y2x) + [made.reconstructed_x, made.reconstructed_y]


def stargan(tf):
    gan = tf.contrib.gan
    labels = np.eye(1, dtype=np.float32)[[0] * BATCH]  # one domain, so that targets are not random

    def generate(data, target):
        return tf.tanh(dense(tf, tf.concat([data, target], 1), "g", DATA))

    def judge(data, domains):
        return dense(tf, data, "d", 1), dense(tf, data, "c", domains)

    made = gan.stargan_model(generate, judge, numbers(BATCH, DATA), labels)
    return gan.stargan_loss(made, add_summaries=False)


def combined(**kwargs):
    def case(tf):
        gan = tf.contrib.gan
        made = model(tf)
        main = tf.reduce_mean(tf.square(made.generated_data - made.real_data))
        found = gan.gan_loss(made, add_summaries=False)
        return gan.losses.combine_adversarial_loss(
            found, made, main, scalar_summaries=False, gradient_summaries=False, **kwargs
        )

    return case


def pooled(tf):
    made = model(tf)
    return tf.contrib.gan.gan_loss(made, tensor_pool_fn=lambda pair: (pair[0], pair[1] * 0.5), add_summaries=False)


CASES = {
    "wasserstein": loss("wasserstein_generator_loss", "wasserstein_discriminator_loss"),
    "penalty": loss(
        "wasserstein_generator_loss", "wasserstein_discriminator_loss", gradient_penalty_weight=3.0,
        gradient_penalty_target=2.0,
    ),
    "penalty_one_sided": loss(
        "wasserstein_generator_loss", "wasserstein_discriminator_loss", gradient_penalty_weight=3.0,
        gradient_penalty_one_sided=True, gradient_penalty_target=0.5,
    ),
    "minimax": loss("minimax_generator_loss", "minimax_discriminator_loss"),
    "modified": loss("modified_generator_loss", "modified_discriminator_loss"),
    "least_squares": loss("least_squares_generator_loss", "least_squares_discriminator_loss"),
    "acgan": acgan,
    "cyclegan": cyclegan,
    "combined_weight": combined(weight_factor=0.3),
    "combined_zero": combined(weight_factor=0.0),
    "pooled": pooled,
    "stargan": stargan,
    "weights": single("least_squares_discriminator_loss", 2, real_label=0.9, fake_label=0.1, real_weights=2.0,
                      generated_weights=0.5),
    "smoothing": single("minimax_discriminator_loss", 2, label_smoothing=0.1, reduction="none"),
    "generator_smoothing": single("modified_generator_loss", 1, label_smoothing=0.2, weights=3.0),
    "generator_minimax": single("minimax_generator_loss", 1, label_smoothing=0.2, weights=3.0),
}  # fmt: skip


def run(tf, name):
    """(facts, arrays)."""
    with tf.Graph().as_default():
        outputs = list(CASES[name](tf))
        trainable = tf.trainable_variables()
        gradients = tf.gradients([y for y in outputs if y.shape.ndims == 0], trainable) if trainable else []
        facts = {
            "trainable": [v.name for v in trainable],
            "losses": len(tf.losses.get_losses()),
            "none": [g is None for g in gradients],
        }
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for v in trainable:
                v.load(numbers(*v.shape.as_list(), key=v.name), sess)
            arrays = {"y" + str(i): v for i, v in enumerate(sess.run(outputs))}
            arrays.update({"d" + str(i): sess.run(g) for i, g in enumerate(gradients) if g is not None})
    return facts, arrays


def train(tf):
    """The variables after some steps of training, and the global step."""
    with tf.Graph().as_default():
        gan = tf.contrib.gan
        made = model(tf)
        with tf.control_dependencies([]):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.identity(1.0, name="Generator/update").op)
        found = gan.gan_train_ops(
            made, gan.gan_loss(made, gan.losses.modified_generator_loss, gan.losses.modified_discriminator_loss,
                               add_summaries=False),
            tf.train.MomentumOptimizer(0.1, 0.9), tf.train.GradientDescentOptimizer(0.2),
            transform_grads_fn=lambda pairs: [(g * 0.5, v) for g, v in pairs],
        )  # fmt: skip
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for v in tf.trainable_variables():
                v.load(numbers(*v.shape.as_list(), key=v.name), sess)
            losses = []
            for _ in range(3):
                losses.append(sess.run(found.generator_train_op))
                losses.append(sess.run(found.discriminator_train_op))
                sess.run(found.global_step_inc_op)
            arrays = {"losses": np.array(losses), "step": sess.run(tf.train.get_global_step())}
            arrays.update({v.name: sess.run(v) for v in tf.trainable_variables()})
    return arrays
