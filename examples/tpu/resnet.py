"""ResNet-50 (He et al., https://arxiv.org/abs/1512.03385) for small images in records, by a TPUEstimator.

    towerstrat run examples/tpu/resnet.py --make_data --data_dir /tmp/shapes
    towerstrat run --towers 8 examples/tpu/resnet.py --data_dir /tmp/shapes --model_dir /tmp/resnet
    python3.6 examples/tpu/resnet.py --use_tpu=false --data_dir /tmp/shapes                # TensorFlow 1.12 itself

The folder has files train-* and validation-* as those of ImageNet: `tf.train.Example`s with an encoded image and its
label. --make_data writes invented ones: shapes of 40 by 40 pixels on noise. The network has all blocks of the original,
with a few filters each; --filters=64 gives them all.
"""

import itertools
import os

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string("data_dir", None, "The folder with the records.")
flags.DEFINE_bool("make_data", False, "Write invented records there, and stop.")
flags.DEFINE_string("model_dir", None, "Where checkpoints are written; default a temporary folder.")
flags.DEFINE_integer("train_batch_size", 32, "Images of one step, over all towers.")
flags.DEFINE_integer("eval_batch_size", 32, "Images of one step of evaluation, over all towers.")
flags.DEFINE_integer("train_steps", 80, "Steps of training.")
flags.DEFINE_integer("iterations_per_loop", 20, "Steps on the device before it returns to the host.")
flags.DEFINE_integer("filters", 8, "Of the first convolution.")
flags.DEFINE_float("base_learning_rate", 0.4, "For 256 images in a step.")
flags.DEFINE_float("weight_decay", 1e-4, "Of all weights but those of normalization.")
flags.DEFINE_enum("precision", "float32", ["float32", "bfloat16"], "Of the activations.")
flags.DEFINE_bool("use_tpu", True, "Whether to train on towers; TensorFlow without a TPU needs false.")
flags.DEFINE_string("tpu", None, "The TPU to use; the local machine where it is not given.")
FLAGS = flags.FLAGS

SIZE, STORED = 32, 40
"""Pixels of the sides of the images, and of those in the records."""
CLASSES = ["disc", "square", "cross", "stripes"]
TRAINED, VALIDATED = 512, 96
WARM_UP = 10


def batch_norm_relu(x, is_training, relu=True, init_zero=False):
    x = tf.layers.batch_normalization(
        x,
        momentum=0.9,
        epsilon=1e-5,
        fused=True,
        training=is_training,
        gamma_initializer=tf.zeros_initializer() if init_zero else tf.ones_initializer(),
    )
    return tf.nn.relu(x) if relu else x


def conv2d_fixed_padding(x, filters, kernel_size, strides):
    """A convolution whose padding does not depend on the size of its input."""
    if strides > 1:
        before = (kernel_size - 1) // 2
        around = [before, kernel_size - 1 - before]
        x = tf.pad(x, [[0, 0], around, around, [0, 0]])
    return tf.layers.conv2d(
        x,
        filters,
        kernel_size,
        strides,
        padding="SAME" if strides == 1 else "VALID",
        use_bias=False,
        kernel_initializer=tf.variance_scaling_initializer(),
    )


def bottleneck_block(x, filters, is_training, strides, project):
    shortcut = x
    if project:
        shortcut = conv2d_fixed_padding(x, 4 * filters, 1, strides)
        shortcut = batch_norm_relu(shortcut, is_training, relu=False)
    x = batch_norm_relu(conv2d_fixed_padding(x, filters, 1, 1), is_training)
    x = batch_norm_relu(conv2d_fixed_padding(x, filters, 3, strides), is_training)
    x = conv2d_fixed_padding(x, 4 * filters, 1, 1)
    return tf.nn.relu(batch_norm_relu(x, is_training, relu=False, init_zero=True) + shortcut)


def resnet_50(x, is_training):
    """Logits of the classes, [batch, classes]."""
    x = batch_norm_relu(conv2d_fixed_padding(x, FLAGS.filters, 3, 2), is_training)
    for group, blocks in enumerate([3, 4, 6, 3]):
        with tf.variable_scope(f"block_group{group + 1}"):
            for block in range(blocks):
                strides = 2 if block == 0 and group else 1
                x = bottleneck_block(x, FLAGS.filters * 2**group, is_training, strides, project=block == 0)
    x = tf.reduce_mean(x, [1, 2])
    return tf.layers.dense(x, len(CLASSES), kernel_initializer=tf.random_normal_initializer(stddev=0.01))


def learning_rate(step):
    """Rises for the first steps, and falls at two thirds and at five sixths of all."""
    whole = FLAGS.base_learning_rate * FLAGS.train_batch_size / 256.0
    falls = [FLAGS.train_steps * 2 // 3, FLAGS.train_steps * 5 // 6]
    falling = tf.train.piecewise_constant(step, falls, [whole, whole * 0.1, whole * 0.01])
    return tf.where(step < WARM_UP, whole * tf.to_float(step) / WARM_UP, falling)


def model_fn(features, labels, mode, params):
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    if FLAGS.precision == "bfloat16":
        with tf.contrib.tpu.bfloat16_scope():
            logits = tf.cast(resnet_50(tf.cast(features, tf.bfloat16), is_training), tf.float32)
    else:
        logits = resnet_50(features, is_training)
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"classes": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits)}
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions=predictions)

    one_hot_labels = tf.one_hot(labels, len(CLASSES))
    cross_entropy = tf.losses.softmax_cross_entropy(one_hot_labels, logits, label_smoothing=0.1)
    decayed = [tf.nn.l2_loss(v) for v in tf.trainable_variables() if "batch_normalization" not in v.name]
    loss = cross_entropy + FLAGS.weight_decay * tf.add_n(decayed)
    if mode == tf.estimator.ModeKeys.EVAL:

        def metric_fn(labels, logits):
            classes = tf.argmax(logits, axis=1)
            in_top_2 = tf.to_float(tf.nn.in_top_k(logits, labels, 2))
            return {"top_1_accuracy": tf.metrics.accuracy(labels, classes), "top_2_accuracy": tf.metrics.mean(in_top_2)}

        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [labels, logits]))
    global_step = tf.train.get_global_step()
    optimizer = tf.train.MomentumOptimizer(learning_rate(global_step), momentum=0.9, use_nesterov=True)
    if params["use_tpu"]:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train_op = optimizer.minimize(loss, global_step)
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def preprocess(encoded, is_training):
    """[SIZE, SIZE, 3]: cut and mirrored at random where it is for training, the middle where it is not."""
    image = tf.image.decode_png(encoded, channels=3)
    image = tf.image.convert_image_dtype(image, tf.float32)
    if is_training:
        image = tf.image.random_flip_left_right(tf.random_crop(image, [SIZE, SIZE, 3]))
    else:
        image = tf.image.resize_image_with_crop_or_pad(image, SIZE, SIZE)
    image = tf.reshape(image, [SIZE, SIZE, 3])
    return (image - [0.4, 0.4, 0.4]) / [0.25, 0.25, 0.25]


def parse(record, is_training):
    columns = {
        "image/encoded": tf.FixedLenFeature([], tf.string, ""),
        "image/class/label": tf.FixedLenFeature([], tf.int64, -1),
        "image/class/text": tf.VarLenFeature(tf.string),
    }
    parsed = tf.parse_single_example(record, columns)
    image = preprocess(parsed["image/encoded"], is_training)
    # Labels of ImageNet's records begin with 1.
    return image, tf.cast(parsed["image/class/label"], tf.int32) - 1


def input_fn_builder(is_training):
    def input_fn(params):
        pattern = os.path.join(FLAGS.data_dir, "train-*" if is_training else "validation-*")
        data = tf.data.Dataset.list_files(pattern, shuffle=is_training)
        if is_training:
            data = data.repeat()
        data = data.apply(
            tf.contrib.data.parallel_interleave(tf.data.TFRecordDataset, cycle_length=4, sloppy=is_training)
        )
        if is_training:
            data = data.shuffle(256)
        data = data.apply(
            tf.contrib.data.map_and_batch(
                lambda record: parse(record, is_training),
                batch_size=params["batch_size"],
                num_parallel_batches=2,
                drop_remainder=True,
            )
        )
        return data.prefetch(tf.contrib.data.AUTOTUNE)

    return input_fn


def drawn(kind, chance):
    """An image of one class, [STORED, STORED, 3]."""
    y, x = np.mgrid[:STORED, :STORED] - chance.randint(15, 25, 2)[:, None, None]
    radius = chance.randint(7, 12)
    inside = {
        "disc": y**2 + x**2 < radius**2,
        "square": np.maximum(abs(y), abs(x)) < radius,
        "cross": (np.minimum(abs(y), abs(x)) < 3) & (np.maximum(abs(y), abs(x)) < radius),
        "stripes": (abs(y) < radius) & (abs(x) < radius) & (y % 6 < 3),
    }[kind]
    noise = chance.randint(0, 100, [STORED, STORED, 3])
    return np.where(inside[..., None], chance.randint(150, 255, 3), noise).astype(np.uint8)


def make_data(folder):
    tf.gfile.MakeDirs(folder)
    chance = np.random.RandomState(1)
    pixels = tf.placeholder(tf.uint8, [STORED, STORED, 3])
    encoded = tf.image.encode_png(pixels)

    def of_bytes(value):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))

    with tf.Session() as session:
        for part, count, files in (("train", TRAINED, 4), ("validation", VALIDATED, 2)):
            for number in range(files):
                name = os.path.join(folder, f"{part}-{number:05d}-of-{files:05d}")
                with tf.python_io.TFRecordWriter(name) as writer:
                    for _ in range(count // files):
                        label = chance.randint(len(CLASSES))
                        image = session.run(encoded, {pixels: drawn(CLASSES[label], chance)})
                        columns = {
                            "image/encoded": of_bytes(image),
                            "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label + 1])),
                            "image/class/text": of_bytes(CLASSES[label].encode()),
                        }
                        example = tf.train.Example(features=tf.train.Features(feature=columns))
                        writer.write(example.SerializeToString())


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    if FLAGS.make_data:
        make_data(FLAGS.data_dir)
        return
    cluster = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu) if FLAGS.use_tpu and FLAGS.tpu else None
    config = tf.contrib.tpu.RunConfig(
        cluster=cluster,
        model_dir=FLAGS.model_dir,
        save_checkpoints_steps=max(600, FLAGS.iterations_per_loop),
        tpu_config=tf.contrib.tpu.TPUConfig(
            iterations_per_loop=FLAGS.iterations_per_loop,
            per_host_input_for_training=tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2,
        ),
    )
    classifier = tf.contrib.tpu.TPUEstimator(
        use_tpu=FLAGS.use_tpu,
        model_fn=model_fn,
        config=config,
        params={"use_tpu": FLAGS.use_tpu},
        train_batch_size=FLAGS.train_batch_size,
        eval_batch_size=FLAGS.eval_batch_size,
        predict_batch_size=FLAGS.eval_batch_size,
        export_to_tpu=False,
    )
    classifier.train(input_fn_builder(is_training=True), max_steps=FLAGS.train_steps)
    results = classifier.evaluate(input_fn_builder(is_training=False), steps=VALIDATED // FLAGS.eval_batch_size)
    print("step {global_step}  loss {loss:.3f}  accuracy {top_1_accuracy:.3f}, {top_2_accuracy:.3f}".format(**results))
    found = classifier.predict(lambda params: input_fn_builder(is_training=False)(params).map(lambda image, _: image))
    print("shapes:", *[CLASSES[row["classes"]] for row in itertools.islice(found, 12)])


if __name__ == "__main__":
    flags.mark_flag_as_required("data_dir")
    tf.app.run()
