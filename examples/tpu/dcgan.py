"""Two networks that train against each other in one TPUEstimator (Radford et al., https://arxiv.org/abs/1511.06434).

    towerstrat run --towers 8 examples/tpu/dcgan.py --model_dir /tmp/dcgan
    python3.6 examples/tpu/dcgan.py --use_tpu=false --model_dir /tmp/dcgan                  # TensorFlow 1.12 itself

The real images are discs of 16 by 16 pixels. At the end the program draws some from noise, into MODEL_DIR/drawn.npy.
"""

import os

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string("model_dir", None, "Where checkpoints and images are written.")
flags.DEFINE_integer("batch_size", 64, "Images of one step, over all towers.")
flags.DEFINE_integer("train_steps", 300, "Steps of training.")
flags.DEFINE_integer("train_steps_per_eval", 150, "Steps between evaluations.")
flags.DEFINE_integer("iterations", 50, "Steps on the device before it returns to the host.")
flags.DEFINE_float("learning_rate", 1e-3, "Of both networks.")
flags.DEFINE_bool("use_tpu", True, "Whether to train on towers; TensorFlow without a TPU needs false.")
flags.DEFINE_string("tpu", None, "The TPU to use; the local machine where it is not given.")
FLAGS = flags.FLAGS

SIZE, NOISE, DRAWN = 16, 32, 16


def real_images(count, seed):
    """Bright discs on a dark ground, [count, SIZE, SIZE, 1] from -1 to 1."""
    chance = np.random.RandomState(seed)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    y, x, radius = chance.uniform([[6], [6], [3]], [[10], [10], [5]], [3, count])[:, :, None, None]
    inside = (rows - y) ** 2 + (columns - x) ** 2 < radius**2
    return np.where(inside, 0.9, -0.9).astype(np.float32)[..., None]


def normalized(x, is_training):
    return tf.layers.batch_normalization(x, momentum=0.9, epsilon=1e-5, training=is_training)


def generator(noise, is_training):
    """Images from noise, [batch, SIZE, SIZE, 1]."""
    with tf.variable_scope("Generator", reuse=tf.AUTO_REUSE):
        x = tf.layers.dense(noise, 4 * 4 * 32)
        x = tf.nn.relu(normalized(tf.reshape(x, [-1, 4, 4, 32]), is_training))
        x = tf.layers.conv2d_transpose(x, 16, 4, strides=2, padding="same")
        x = tf.nn.relu(normalized(x, is_training))
        return tf.tanh(tf.layers.conv2d_transpose(x, 1, 4, strides=2, padding="same"))


def discriminator(images, is_training):
    """Logits of being real, [batch, 1]."""
    with tf.variable_scope("Discriminator", reuse=tf.AUTO_REUSE):
        x = tf.nn.leaky_relu(tf.layers.conv2d(images, 16, 4, strides=2, padding="same"))
        x = tf.nn.leaky_relu(normalized(tf.layers.conv2d(x, 32, 4, strides=2, padding="same"), is_training))
        return tf.layers.dense(tf.layers.flatten(x), 1)


def judged(is_real, logits):
    labels = tf.ones_like(logits) if is_real else tf.zeros_like(logits)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def model_fn(features, labels, mode, params):
    """``labels`` are not used: nobody knows what noise stands for."""
    if mode == tf.estimator.ModeKeys.PREDICT:
        images = generator(features["random_noise"], is_training=False)
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={"generated_images": images})

    is_training = mode == tf.estimator.ModeKeys.TRAIN
    generated = generator(features["random_noise"], is_training)
    on_real = discriminator(features["real_images"], is_training)
    on_generated = discriminator(generated, is_training)
    d_losses = judged(True, on_real) + judged(False, on_generated)
    g_losses = judged(True, on_generated)
    d_loss, g_loss = tf.reduce_mean(d_losses), tf.reduce_mean(g_losses)

    if not is_training:

        def metric_fn(d_losses, g_losses, generated):
            return {
                "discriminator_loss": tf.metrics.mean(d_losses),
                "generator_loss": tf.metrics.mean(g_losses),
                "brightness": tf.metrics.mean(generated),
            }

        return tf.contrib.tpu.TPUEstimatorSpec(
            mode, loss=tf.reduce_mean(g_losses), eval_metrics=(metric_fn, [d_losses, g_losses, generated])
        )

    d_optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate, beta1=0.5)
    g_optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate, beta1=0.5)
    if params["use_tpu"]:
        d_optimizer = tf.contrib.tpu.CrossShardOptimizer(d_optimizer)
        g_optimizer = tf.contrib.tpu.CrossShardOptimizer(g_optimizer)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        d_step = d_optimizer.minimize(
            d_loss, var_list=tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Discriminator")
        )
        g_step = g_optimizer.minimize(
            g_loss, var_list=tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Generator")
        )
        increment_step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    joint_op = tf.group([d_step, g_step, increment_step])
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=g_loss, train_op=joint_op)


def generate_input_fn(is_training):
    """Real images and noise, as tensors of an iterator."""

    def input_fn(params):
        batch_size = params["batch_size"]
        data = tf.data.Dataset.from_tensor_slices(real_images(1024, seed=0 if is_training else 1))
        if is_training:
            data = data.shuffle(1024).repeat()
        data = data.apply(tf.contrib.data.batch_and_drop_remainder(batch_size)).prefetch(2)
        images = data.make_one_shot_iterator().get_next()
        noise = tf.random_normal([batch_size, NOISE])
        return {"real_images": images, "random_noise": noise}, tf.zeros([batch_size], tf.int32)

    return input_fn


def noise_input_fn(params):
    noise = np.random.RandomState(2).randn(DRAWN, NOISE).astype(np.float32)
    return tf.data.Dataset.from_tensors({"random_noise": tf.constant(noise)})


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    cluster = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu) if FLAGS.use_tpu and FLAGS.tpu else None
    config = tf.contrib.tpu.RunConfig(
        cluster=cluster,
        model_dir=FLAGS.model_dir,
        tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=FLAGS.iterations),
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn,
        config=config,
        use_tpu=FLAGS.use_tpu,
        params={"use_tpu": FLAGS.use_tpu},
        train_batch_size=FLAGS.batch_size,
        eval_batch_size=FLAGS.batch_size,
    )
    # Pictures are drawn on the host.
    on_cpu = tf.contrib.tpu.TPUEstimator(
        model_fn, config=config, use_tpu=False, params={"use_tpu": False}, train_batch_size=1, predict_batch_size=DRAWN
    )
    for last in range(FLAGS.train_steps_per_eval, FLAGS.train_steps + 1, FLAGS.train_steps_per_eval):
        estimator.train(generate_input_fn(True), max_steps=last)
        results = estimator.evaluate(generate_input_fn(False), steps=1024 // FLAGS.batch_size)
        print(
            "step {global_step:4d}  discriminator {discriminator_loss:.3f}  generator {generator_loss:.3f}  "
            "brightness {brightness:.3f}".format(**results)
        )
    drawn = np.stack([row["generated_images"] for row in on_cpu.predict(noise_input_fn)])
    with tf.gfile.GFile(os.path.join(FLAGS.model_dir, "drawn.npy"), "wb") as file:
        np.save(file, drawn)
    middle, border = drawn[:, 6:10, 6:10].mean(), np.concatenate([drawn[:, 0], drawn[:, -1]]).mean()
    print(f"{len(drawn)} images drawn: {middle:.2f} in the middle, {border:.2f} at the border")


if __name__ == "__main__":
    flags.mark_flag_as_required("model_dir")
    tf.app.run()
