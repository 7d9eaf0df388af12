"""Trains a small convnet on handwritten digits with an Estimator over a tower strategy, as programs did in 2018.

    towerstrat run --towers 8 examples/digits_estimator.py
    python3.6 examples/digits_estimator.py --strategy one_device --data digits.npz      # TensorFlow 1.12 itself

The digits are scikit-learn's: 1,797 images of 8 by 8 pixels. Where it is missing, --data names an .npz file with the
arrays `images` (0 to 16) and `labels`. With --model_dir a second start goes on where the first one was killed.
"""

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_enum("strategy", "tpu", ["tpu", "one_device", "none"], "How training and evaluation are distributed.")
flags.DEFINE_string("tpu", "", "Address of the TPU; empty for the local machine.")
flags.DEFINE_string("data", None, "An .npz file with the digits; default scikit-learn's.")
flags.DEFINE_string("model_dir", None, "Where checkpoints and events are written; default a temporary folder.")
flags.DEFINE_integer("batch_size", 128, "Examples of one step, over all towers.")
flags.DEFINE_integer("steps_per_run", 20, "Steps on the device before it returns to the host.")
flags.DEFINE_integer("steps", 400, "How long to train.")
flags.DEFINE_float("learning_rate", 2e-3, "At the first step; it falls from there.")
flags.DEFINE_integer("seed", 1, "Of the initial values, the dropout and the order of examples.")
FLAGS = flags.FLAGS

HELD_BACK = 360


def load_digits():
    """Returns ((images, labels) to train on, (images, labels) that are held back)."""
    if FLAGS.data:
        digits = np.load(FLAGS.data)
        images, labels = digits["images"], digits["labels"]
    else:
        from sklearn import datasets

        digits = datasets.load_digits()
        images, labels = digits.images, digits.target
    images = images.astype(np.float32).reshape([-1, 8, 8, 1]) / 16
    labels = labels.astype(np.int32)
    order = np.random.RandomState(0).permutation(len(images))
    test, train = order[:HELD_BACK], order[HELD_BACK:]
    return (images[train], labels[train]), (images[test], labels[test])


def convnet(images, training):
    """Logits of the ten classes."""
    net = tf.layers.conv2d(images, 32, 3, padding="same", activation=tf.nn.relu, name="conv1")
    net = tf.layers.conv2d(net, 64, 3, padding="same", activation=tf.nn.relu, name="conv2")
    net = tf.layers.max_pooling2d(net, 2, 2, name="pool")
    net = tf.layers.flatten(net)
    net = tf.layers.dense(net, 128, activation=tf.nn.relu, name="hidden")
    net = tf.layers.dropout(net, 0.4, training=training)
    return tf.layers.dense(net, 10, name="logits")


def model_fn(features, labels, mode, params):
    """What ``tf.estimator.Estimator`` trains, evaluates and predicts with."""
    logits = convnet(features["images"], training=mode == tf.estimator.ModeKeys.TRAIN)
    classes = tf.argmax(logits, axis=1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"class": classes, "scores": tf.nn.softmax(logits)})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        accuracy = tf.metrics.accuracy(labels, classes)
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})
    step = tf.train.get_global_step()
    rate = tf.train.exponential_decay(params.learning_rate, step, decay_steps=50, decay_rate=0.8)
    train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def make_strategy():
    if FLAGS.strategy == "none":
        return None
    if FLAGS.strategy == "one_device":
        return tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu=FLAGS.tpu)
    return tf.contrib.distribute.TPUStrategy(resolver, steps_per_run=FLAGS.steps_per_run)


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    train, test = load_digits()
    strategy = make_strategy()
    towers = strategy.num_towers if strategy else 1

    def train_input_fn():
        dataset = tf.data.Dataset.from_tensor_slices(({"images": train[0]}, train[1]))
        dataset = dataset.shuffle(len(train[0]), seed=FLAGS.seed).repeat()
        return dataset.batch(FLAGS.batch_size // towers, drop_remainder=True)

    def test_input_fn():
        return tf.data.Dataset.from_tensor_slices(({"images": test[0]}, test[1])).batch(
            HELD_BACK // 8, drop_remainder=True
        )

    config = tf.estimator.RunConfig(
        model_dir=FLAGS.model_dir,
        tf_random_seed=FLAGS.seed,
        save_checkpoints_steps=100,
        log_step_count_steps=100,
        train_distribute=strategy,
        eval_distribute=strategy,
    )
    params = tf.contrib.training.HParams(learning_rate=FLAGS.learning_rate)
    estimator = tf.estimator.Estimator(model_fn, config=config, params=params)
    estimator.train(train_input_fn, max_steps=FLAGS.steps)
    results = estimator.evaluate(test_input_fn)
    print("step {global_step}  loss {loss:.3f}  accuracy {accuracy:.3f}".format(**results))

    few = tf.estimator.inputs.numpy_input_fn({"images": test[0][:10]}, shuffle=False)
    found = [int(row["class"]) for row in estimator.predict(few)]
    print(f"{sum(found == test[1][:10])} of {len(found)} digits read right")


if __name__ == "__main__":
    tf.app.run()
