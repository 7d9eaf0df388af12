"""A small residual network for textures, CIFAR style: augmentation, L2 losses, piecewise learning rate."""

import numpy as np
import tensorflow as tf

HEIGHT = WIDTH = 8
NUM_CLASSES = 3
BATCH_SIZE = 20
WEIGHT_DECAY = 2e-3
MOMENTUM = 0.9
_BATCH_NORM_DECAY = 0.9

tf.logging.set_verbosity(tf.logging.ERROR)


def textures(n, seed):
    """uint8 images: horizontal waves, vertical waves, or a checkerboard, in colours that say nothing."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, NUM_CLASSES, n)
    row, column = np.mgrid[0:HEIGHT, 0:WIDTH]
    patterns = [np.sin(row * 1.6), np.sin(column * 1.6), np.sin(row * 1.6) * np.sin(column * 1.6)]
    colours = rng.uniform(0.5, 1.0, (n, 1, 1, 3))
    images = np.stack([patterns[k] for k in labels])[..., None] * colours + rng.normal(0, 0.3, (n, HEIGHT, WIDTH, 3))
    return (
        (128 + 60 * images).clip(0, 255).astype(np.uint8),
        labels.astype(np.int32),
        rng.randint(0, 3, (n, 3)).astype(np.int32),
    )


def parse_record(image, label, how, is_training):
    image = tf.cast(image, tf.float32)
    if is_training:
        image = tf.image.resize_image_with_crop_or_pad(image, HEIGHT + 2, WIDTH + 2)
        image = tf.image.crop_to_bounding_box(image, how[0], how[1], HEIGHT, WIDTH)
        image = tf.cond(tf.equal(how[2], 0), lambda: tf.image.flip_left_right(image), lambda: image)
        image = tf.image.adjust_brightness(image, 8.0 * tf.cast(how[2] - 1, tf.float32))
        image = tf.image.adjust_contrast(image, 1.1)
    return tf.image.per_image_standardization(image), label


def input_fn(is_training, num_epochs=1):
    dataset = tf.data.Dataset.from_tensor_slices(textures(200, 0) if is_training else textures(60, 1))
    dataset = dataset.map(lambda *record: parse_record(*record, is_training=is_training), num_parallel_calls=2)
    return dataset.batch(BATCH_SIZE).repeat(num_epochs).prefetch(1)


def he(shape, seed):
    return tf.constant_initializer(np.random.RandomState(seed).normal(0, np.sqrt(2.0 / np.prod(shape[:-1])), shape))


def conv2d(inputs, filters, size, strides, seed):
    shape = (size, size, inputs.shape[-1].value, filters)
    return tf.layers.conv2d(
        inputs, filters, size, strides, padding="SAME", use_bias=False, kernel_initializer=he(shape, seed)
    )


def batch_norm(inputs, training):
    return tf.layers.batch_normalization(inputs, momentum=_BATCH_NORM_DECAY, epsilon=1e-5, training=training)


def building_block(inputs, filters, training, strides, seed):
    shortcut = inputs
    inputs = tf.nn.relu(batch_norm(inputs, training))
    if strides > 1:
        shortcut = conv2d(inputs, filters, 1, strides, seed)
    inputs = conv2d(inputs, filters, 3, strides, seed + 1)
    inputs = tf.nn.relu(batch_norm(inputs, training))
    return conv2d(inputs, filters, 3, 1, seed + 2) + shortcut


def resnet(images, training):
    inputs = conv2d(images, 6, 3, 1, seed=1)
    inputs = building_block(inputs, 6, training, 1, seed=10)
    inputs = building_block(inputs, 12, training, 2, seed=20)
    inputs = tf.nn.relu(batch_norm(inputs, training))
    inputs = tf.reduce_mean(inputs, [1, 2])
    return tf.layers.dense(inputs, NUM_CLASSES, kernel_initializer=he((12, NUM_CLASSES), 30))


train, test = input_fn(True, num_epochs=5), input_fn(False)
iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
images, labels = iterator.get_next()
training = tf.placeholder_with_default(False, [])
logits = resnet(images, training)
cross_entropy = tf.losses.sparse_softmax_cross_entropy(logits=logits, labels=labels)
decayed = [v for v in tf.trainable_variables() if "batch_normalization" not in v.name]
l2_loss = WEIGHT_DECAY * tf.add_n([tf.nn.l2_loss(v) for v in decayed])
tf.losses.add_loss(l2_loss)
loss = tf.losses.get_total_loss()

global_step = tf.train.get_or_create_global_step()
learning_rate = tf.train.piecewise_constant(global_step, [20, 40], [0.05, 0.02, 0.005])
optimizer = tf.train.MomentumOptimizer(learning_rate, MOMENTUM)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = optimizer.minimize(loss, global_step)
_, accuracy = tf.metrics.accuracy(labels, tf.argmax(logits, axis=1))
in_top_2 = tf.reduce_mean(tf.to_float(tf.nn.in_top_k(logits, labels, 2)))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("updates", len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)), "decayed", len(decayed))
    sess.run(iterator.make_initializer(train))
    while True:
        try:
            _, step, value, penalty, rate = sess.run(
                [train_op, global_step, cross_entropy, l2_loss, learning_rate], {training: True}
            )
        except tf.errors.OutOfRangeError:
            break
        if step % 10 == 0:
            print(f"step {step} cross entropy {value:.5f} l2 {penalty:.5f}")
    print(f"last rate {rate:.5f}")
    sess.run([iterator.make_initializer(test), tf.local_variables_initializer()])
    try:
        while True:
            result, top_2 = sess.run([accuracy, in_top_2])
    except tf.errors.OutOfRangeError:
        print(f"test accuracy {result:.5f}, in the top 2 of the last batch {top_2:.5f}")
