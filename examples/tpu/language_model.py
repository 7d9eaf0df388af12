"""A transformer that goes on with a text, character by character, with its own optimizer and a host call.

    towerstrat run --towers 8 examples/tpu/language_model.py --model_dir /tmp/language
    python3.6 examples/tpu/language_model.py --use_tpu=false --model_dir /tmp/language      # TensorFlow 1.12 itself

It is the decoder of Vaswani et al. (https://arxiv.org/abs/1706.03762), trained by Adafactor (Shazeer and Stern,
https://arxiv.org/abs/1804.04235). A host call writes the loss and the rate of each step, for TensorBoard. The text is
that of --text, or invented: sums, as "12+7=19;".
"""

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string("text", None, "A file with the text to learn; default invented sums.")
flags.DEFINE_string("model_dir", None, "Where checkpoints and summaries are written.")
flags.DEFINE_integer("batch_size", 32, "Pieces of text of one step, over all towers.")
flags.DEFINE_integer("train_steps", 300, "Steps of training.")
flags.DEFINE_integer("iterations", 50, "Steps on the device before it returns to the host.")
flags.DEFINE_integer("length", 32, "Characters of a piece.")
flags.DEFINE_integer("hidden", 32, "Numbers for a character.")
flags.DEFINE_integer("layers", 2, "Layers.")
flags.DEFINE_integer("heads", 4, "Heads of attention.")
flags.DEFINE_float("learning_rate", 0.1, "Relative to the size of the weights, after the first steps.")
flags.DEFINE_bool("use_tpu", True, "Whether to train on towers; TensorFlow without a TPU needs false.")
flags.DEFINE_string("tpu", None, "The TPU to use; the local machine where it is not given.")
FLAGS = flags.FLAGS

GENERATED, HELD_BACK = 12, 128


class AdafactorOptimizer(tf.train.Optimizer):
    """Keeps of the squares of a matrix's gradients the means of rows and columns only."""

    def __init__(self, learning_rate, decay_rate, epsilon=1e-30, clipping=1.0, use_locking=False, name="Adafactor"):
        super().__init__(use_locking, name)
        self._rate, self._decay, self._epsilon, self._clipping = learning_rate, decay_rate, epsilon, clipping

    def _create_slots(self, var_list):
        for var in var_list:
            shape = var.shape.as_list()
            if len(shape) == 2:
                self._get_or_make_slot(var, tf.zeros(shape[:1]), "vr", self._name)
                self._get_or_make_slot(var, tf.zeros(shape[1:]), "vc", self._name)
            else:
                self._zeros_slot(var, "v", self._name)

    def _apply_dense(self, grad, var):
        return self._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad, var):
        return self._resource_apply_dense(tf.convert_to_tensor(grad), var)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._resource_apply_dense(tf.unsorted_segment_sum(grad, indices, var.shape[0]), var)

    def _resource_apply_dense(self, grad, var):
        squares, kept = tf.square(grad) + self._epsilon, []

        def average(name, value):
            slot = self.get_slot(var, name)
            kept.append(tf.assign(slot, self._decay * slot + (1.0 - self._decay) * value))
            return kept[-1]

        if len(var.shape) == 2:
            rows = average("vr", tf.reduce_mean(squares, 1))
            columns = average("vc", tf.reduce_mean(squares, 0))
            estimate = tf.expand_dims(rows / tf.reduce_mean(rows), 1) * tf.expand_dims(columns, 0)
        else:
            estimate = average("v", squares)
        update = grad * tf.rsqrt(estimate)
        update /= tf.maximum(1.0, tf.sqrt(tf.reduce_mean(tf.square(update))) / self._clipping)
        scale = tf.maximum(tf.sqrt(tf.reduce_mean(tf.square(var))), 1e-3)
        return tf.group(tf.assign_sub(var, self._rate * scale * update), *kept)


def layer_norm(x, name):
    """Normalizes the numbers of each position."""
    with tf.variable_scope(name):
        scale = tf.get_variable("scale", [FLAGS.hidden], initializer=tf.ones_initializer())
        bias = tf.get_variable("bias", [FLAGS.hidden], initializer=tf.zeros_initializer())
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-6) * scale + bias


def attention(x, name):
    """Each position attends to itself and to those before."""
    size = FLAGS.hidden // FLAGS.heads
    length = x.shape[1].value

    def by_head(what):
        return tf.transpose(tf.reshape(what, [-1, length, FLAGS.heads, size]), [0, 2, 1, 3])

    with tf.variable_scope(name):
        queries, keys, values = (by_head(x) for x in tf.split(tf.layers.dense(x, 3 * FLAGS.hidden, name="qkv"), 3, -1))
        scores = tf.matmul(queries, keys, transpose_b=True) * size**-0.5
        before = tf.matrix_band_part(tf.ones([length, length]), -1, 0)
        shares = tf.nn.softmax(scores - 1e9 * (1.0 - before))
        found = tf.reshape(tf.transpose(tf.matmul(shares, values), [0, 2, 1, 3]), [-1, length, FLAGS.hidden])
        return tf.layers.dense(found, FLAGS.hidden, name="out")


def transformer(ids, vocabulary):
    """Logits of the character after each position, [batch, length, vocabulary]."""
    with tf.variable_scope("transformer", reuse=tf.AUTO_REUSE):
        initializer = tf.random_normal_initializer(stddev=0.1)
        table = tf.get_variable("characters", [vocabulary, FLAGS.hidden], initializer=initializer)
        positions = tf.get_variable("positions", [FLAGS.length, FLAGS.hidden], initializer=initializer)
        x = tf.gather(table, ids) + positions
        for number in range(FLAGS.layers):
            with tf.variable_scope(f"layer_{number}"):
                x += attention(layer_norm(x, "before"), "attention")
                wide = tf.layers.dense(layer_norm(x, "between"), 4 * FLAGS.hidden, tf.nn.relu, name="wide")
                x += tf.layers.dense(wide, FLAGS.hidden, name="narrow")
        return tf.tensordot(layer_norm(x, "after"), table, axes=[[2], [1]])


def go_on(prompt, vocabulary):
    """The likeliest characters after a prompt; the window moves on by one for each."""

    def following(step, window, found):
        last = tf.argmax(transformer(window, vocabulary)[:, -1], -1, output_type=tf.int32)
        window = tf.concat([window[:, 1:], last[:, None]], 1)
        return step + 1, window, tf.concat([found[:, 1:], last[:, None]], 1)

    begin = [tf.constant(0), prompt, tf.zeros_like(prompt[:, :GENERATED])]
    return tf.while_loop(lambda step, *_: step < GENERATED, following, begin)[-1]


def host_call_fn(global_step, loss, learning_rate):
    """Runs on the host after each step, with the losses of all towers."""
    step = global_step[0]
    writer = tf.contrib.summary.create_file_writer(FLAGS.model_dir, max_queue=1000)
    with writer.as_default(), tf.contrib.summary.always_record_summaries():
        tf.contrib.summary.scalar("loss_of_step", tf.reduce_mean(loss), step=step)
        tf.contrib.summary.scalar("learning_rate", learning_rate[0], step=step)
        return tf.contrib.summary.all_summary_ops()


def model_fn(features, labels, mode, params):
    vocabulary = params["vocabulary"]
    if mode == tf.estimator.ModeKeys.PREDICT:
        found = go_on(features["ids"], vocabulary)
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={"prompt": features["ids"], "found": found})
    logits = transformer(features["ids"], vocabulary)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    if mode == tf.estimator.ModeKeys.EVAL:

        def metric_fn(losses, labels, logits):
            mean, update = tf.metrics.mean(losses)
            right = tf.metrics.accuracy(labels, tf.argmax(logits, -1, output_type=tf.int32))
            return {"perplexity": (tf.exp(mean), update), "accuracy": right}

        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [losses, labels, logits]))
    global_step = tf.train.get_or_create_global_step()
    step = tf.to_float(global_step) + 1.0
    rate = params["learning_rate"] * tf.minimum(step / 30.0, tf.sqrt(30.0 / step))
    optimizer = AdafactorOptimizer(rate, decay_rate=1.0 - tf.pow(step, -0.8))
    if params["use_tpu"]:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss, global_step)
    host_call = (host_call_fn, [tf.reshape(x, [1]) for x in (global_step, loss, rate)])
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=host_call)


def read_text():
    if FLAGS.text:
        with tf.gfile.GFile(FLAGS.text, "r") as file:
            return file.read()
    numbers = np.random.RandomState(1).randint(0, 10, [8000, 2])
    return "".join(f"{one}+{other}={one + other};" for one, other in numbers.tolist())


def input_fn_builder(ids, is_training):
    def input_fn(params):
        pieces = len(ids) // (FLAGS.length + 1)
        pieces = ids[: pieces * (FLAGS.length + 1)].reshape(pieces, FLAGS.length + 1)
        chosen = pieces[:-HELD_BACK] if is_training else pieces[-HELD_BACK:]
        data = tf.data.Dataset.from_tensor_slices(({"ids": chosen[:, :-1]}, chosen[:, 1:]))
        if is_training:
            data = data.shuffle(1000).repeat()
        return data.batch(params["batch_size"], drop_remainder=True)

    return input_fn


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    text = read_text()
    if len(text) < 2 * HELD_BACK * (FLAGS.length + 1):
        raise ValueError(f"{len(text)} characters are too few: {HELD_BACK * (FLAGS.length + 1)} of them are held back.")
    characters = sorted(set(text))
    ids = np.array([characters.index(c) for c in text], np.int32)
    cluster = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu) if FLAGS.use_tpu and FLAGS.tpu else None
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn,
        use_tpu=FLAGS.use_tpu,
        config=tf.contrib.tpu.RunConfig(
            cluster=cluster,
            model_dir=FLAGS.model_dir,
            save_checkpoints_steps=200,
            tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=FLAGS.iterations, per_host_input_for_training=True),
        ),
        params={"vocabulary": len(characters), "learning_rate": FLAGS.learning_rate, "use_tpu": FLAGS.use_tpu},
        train_batch_size=FLAGS.batch_size,
        eval_batch_size=FLAGS.batch_size,
        predict_batch_size=8,
    )
    estimator.train(input_fn_builder(ids, True), max_steps=FLAGS.train_steps)
    results = estimator.evaluate(input_fn_builder(ids, False), steps=HELD_BACK // FLAGS.batch_size)
    print("step {global_step}  perplexity {perplexity:.3f}  accuracy {accuracy:.3f}".format(**results))

    def prompts(params):
        begin = np.stack([ids[i * 7 : i * 7 + FLAGS.length] for i in range(8)])
        return tf.data.Dataset.from_tensor_slices({"ids": begin}).batch(params["batch_size"])

    for row in estimator.predict(prompts):
        print(*("".join(characters[i] for i in row[key]) for key in ("prompt", "found")), sep=" -> ")


if __name__ == "__main__":
    flags.mark_flag_as_required("model_dir")
    tf.app.run()
