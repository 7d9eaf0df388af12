"""Quantization-aware training of a small convnet by rewriting graphs (tf.contrib.quantize)."""

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)

SIZE = 8
BATCH = 20


def corners(n, seed):
    """Images with a bright corner; the label says which."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 4, n)
    images = rng.uniform(0, 0.4, (n, SIZE, SIZE, 1))
    for image, label in zip(images, labels):
        row, column = 4 * (label // 2), 4 * (label % 2)
        image[row : row + 4, column : column + 4] += rng.uniform(0.1, 0.5)
    return images.astype(np.float32), labels.astype(np.int64)


def start(shape, seed):
    return tf.constant_initializer(np.random.RandomState(seed).normal(0, np.sqrt(1.5 / np.prod(shape[:-1])), shape))


def build_model(images, is_training):
    net = tf.layers.conv2d(
        images, 8, 3, strides=2, padding="same", activation=tf.nn.relu6, kernel_initializer=start((3, 3, 1, 8), 0),
        name="conv1",
    )  # fmt: skip
    net = tf.layers.conv2d(
        net, 8, 3, padding="same", activation=tf.nn.relu6, kernel_initializer=start((3, 3, 8, 8), 1), name="conv2"
    )
    net = tf.layers.flatten(net)
    return tf.layers.dense(net, 4, kernel_initializer=start((128, 4), 2), name="logits")


def train(path):
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, SIZE, SIZE, 1], name="images")
        labels = tf.placeholder(tf.int64, [None], name="labels")
        logits = build_model(images, is_training=True)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        tf.contrib.quantize.create_training_graph(input_graph=graph, quant_delay=10)
        kinds = [op.type for op in graph.get_operations() if op.type.startswith("FakeQuant")]
        print("fake quantization", len(kinds), sorted(set(kinds)))
        global_step = tf.train.get_or_create_global_step()
        train_op = tf.train.AdamOptimizer(0.005).minimize(loss, global_step=global_step)
        x, y = corners(200, 0)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for epoch in range(4):
                for i in range(0, 200, BATCH):
                    feed = {images: x[i : i + BATCH], labels: y[i : i + BATCH]}
                    value, _ = sess.run([loss, train_op], feed)
                print(f"epoch {epoch} step {sess.run(global_step)} loss {value:.5f}")
            ranges = {v.op.name: v for v in tf.global_variables() if v.op.name.endswith(("min", "max"))}
            for name in sorted(ranges):
                print(f"{name} {sess.run(ranges[name]):.5f}")
            return tf.train.Saver().save(sess, path)


def evaluate(path, quantized):
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, SIZE, SIZE, 1], name="images")
        logits = build_model(images, is_training=False)
        if quantized:
            tf.contrib.quantize.create_eval_graph(input_graph=graph)
        x, y = corners(100, 1)
        with tf.Session() as sess:
            tf.train.Saver().restore(sess, path)
            scores = sess.run(logits, {images: x})
            kernel = "conv1/weights_quant/FakeQuantWithMinMaxVars:0"
            levels = len(np.unique(sess.run(kernel))) if quantized else None
    return float(np.mean(scores.argmax(axis=1) == y)), scores, levels


path = train("./quantized.ckpt")
accuracy, plain, _ = evaluate(path, quantized=False)
print(f"with floats: accuracy {accuracy:.5f}")
accuracy, scores, levels = evaluate(path, quantized=True)
print(f"quantized: accuracy {accuracy:.5f}, different values in the first kernel {levels}")
print(f"largest difference {np.abs(plain - scores).max():.5f}", np.round(scores[0], 5))
