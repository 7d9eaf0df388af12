"""Runs that stop and go on: what they take before they stop, and after.

They use public names only, so that a state is resumed by the code of any later version.
"""

import gzip

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2

TAKEN = 5
"""Elements of each pipeline before the state."""
LEFT = 12
"""Elements after it, at most."""


def write_files():
    """Files that pipelines read, in the working folder: their names are part of what a pipeline is."""
    for name in ("lines", "more_lines"):
        with open(name, "w") as file:
            file.write("".join(f"{name} {i}\n" for i in range(9)))
    with gzip.open("lines.gz", "wb") as file:
        file.write(b"".join(b"%d\n" % i for i in range(9)))
    with open("fixed", "wb") as file:
        file.write(b"hh" + bytes(range(21)) + b"f")
    with tf.io.TFRecordWriter("records") as writer:
        for i in range(9):
            writer.write(b"x" * i)


def table(n):
    return tf.data.Dataset.from_tensor_slices((np.arange(n), np.arange(n, dtype=np.float32)))


def numbers(n=20):
    return tf.data.Dataset.range(n)


def grow(x):
    return tf.range(x % 5)


def noisy(x):
    return x + tf.random_uniform([], 0, 50, tf.int64)


def count():
    """A generator that ends."""
    yield from range(20)


def sparse():
    values = tf.SparseTensor([[0, 1], [2, 3], [4, 0], [5, 2], [6, 1]], [1, 2, 3, 4, 5], [20, 4])
    return tf.data.Dataset.from_tensor_slices(values)


def pipelines():
    """Name -> dataset. The names are those of iterators."""
    more = tf.data.experimental
    ragged = tf2.ragged.constant([[1], [2, 3], [], [4]] * 4)
    return {
        "shuffle_repeat": table(20).shuffle(7).repeat(),
        "shuffle_once": table(9).shuffle(4, 3, reshuffle_each_iteration=False).repeat(3),
        "loose_shuffle": numbers().map(grow).shuffle(4).repeat(2),
        "take_skip_shard": numbers(60).skip(2).take(50).shard(2, 1),
        "batch": table(40).shuffle(7).batch(3),
        "batch_prefetch": numbers(40).map(lambda x: x * 2).batch(2).prefetch(2),
        "padded_batch": numbers(40).map(grow).shuffle(4).padded_batch(3, [None]),
        "map_random": numbers().map(noisy),
        "map_rows": table(3000).shuffle(50).map(lambda i, x: (i, x + tf.random_uniform([]))).repeat().batch(4),
        "map_threads": numbers().map(lambda x: tf.fill([x % 2 + 1, x % 3 + 1], x), 3).prefetch(2),
        "map_py_func": numbers().map(lambda x: tf.py_func(lambda y: y + 1, [x], tf.int64)),
        "filter": numbers().filter(lambda x: tf.not_equal(x % 3, 0)),
        "take_while": numbers().apply(more.take_while(lambda x: x < 15)),
        "flat_map": numbers().flat_map(lambda x: tf.data.Dataset.range(x % 3).map(noisy)),
        "interleave": numbers().interleave(lambda x: tf.data.Dataset.range(x % 4).shuffle(3), 3, 2),
        "scan": numbers().apply(more.scan(np.int64(0), lambda s, x: (s + x, s + x))),
        "unique": numbers().map(lambda x: x % 9).apply(more.unique()),
        "ignore_errors": numbers()
        .map(lambda x: tf.check_numerics(1 / tf.cast(x % 4, tf.float32), "inf"))
        .apply(more.ignore_errors()),
        "group_by_window": numbers().apply(
            more.group_by_window(lambda x: x % 3, lambda k, w: w.shuffle(2).map(noisy), 3)
        ),
        "group_by_reducer": numbers(40).apply(
            more.group_by_reducer(
                lambda x: x % 11, more.Reducer(lambda k: np.int64(0), lambda s, x: s + x, lambda s: s)
            )
        ),
        "buckets": numbers(40).map(grow).apply(
            more.bucket_by_sequence_length(lambda x: tf.size(x), [2, 4], [2, 3, 2])
        ),
        "sample": more.sample_from_datasets([numbers(), numbers().skip(1)]),
        "choose": more.choose_from_datasets([numbers(), numbers(9)], numbers(2).repeat(9)),
        "zip": tf.data.Dataset.zip((numbers(), numbers().shuffle(2))),
        "concatenate": numbers(3).concatenate(numbers(30).shuffle(4)),
        "enumerate": numbers().map(grow).enumerate(),
        "window": numbers().window(2).flat_map(lambda w: w),
        "sliding_window": numbers().window(4, 2, 2, True).flat_map(lambda w: w.batch(4)),
        "sliding_batch": numbers(40).apply(tf.contrib.data.sliding_window_batch(4, 2)),
        "snapshot": numbers(3).map(noisy).apply(tf2.data.experimental.snapshot("snapshot")).repeat(9),
        "triples": tf.data.Dataset.from_sparse_tensor_slices(tf.SparseTensor([[0, 1], [2, 3]], [1, 2], [9, 4])),
        "iterated": tf.data.Dataset.from_generator(lambda: iter([[1, 2], [3]] * 9), tf.int32, [None]),
        "cache": numbers(9).map(noisy).cache().repeat(2),
        "cache_file": numbers(3).map(noisy).cache("cached").repeat(9),
        "unbatch": numbers(40).batch(3).apply(more.unbatch()),
        "one": tf.data.Dataset.from_tensors((1, "two")).repeat(20),
        "counter": more.Counter(3, -2).map(lambda x: x * 2),
        "random": more.RandomDataset(3).batch(2),
        "generator": tf.data.Dataset.from_generator(count, tf.int32, []).shuffle(3),
        "lines": tf.data.TextLineDataset(["lines"] * 3),
        "compressed_lines": tf.data.TextLineDataset(["lines.gz"] * 2, "GZIP").shuffle(4),
        "records": tf.data.TFRecordDataset("records").repeat(2),
        "fixed_records": tf.data.FixedLengthRecordDataset(["fixed"] * 2, 3, 2, 1),
        "files_in_turn": tf.data.Dataset.list_files("*lines", shuffle=False).interleave(
            lambda name: tf.data.TextLineDataset(name), 2
        ),
        "sparse": sparse().repeat().batch(2),
        "ragged": tf.data.Dataset.from_tensor_slices(ragged).repeat(2),
        "dense_to_ragged": numbers(40).map(grow).apply(tf2.data.experimental.dense_to_ragged_batch(3)),
        "dense_to_sparse": numbers(40).map(grow).apply(more.dense_to_sparse_batch(2, [5])),
        "shapes_asserted": numbers(40).batch(2, drop_remainder=True).apply(more.assert_cardinality(20)),
        "statistics": numbers().apply(more.latency_stats("latency")),
        "options": numbers().shuffle(5).with_options(tf.data.Options()),
    }  # fmt: skip


def tower_elements():
    """Name -> (what initializes, next element) of pipelines that strategies distribute: each device has its part."""
    contrib = tf.contrib.distribute.MirroredStrategy(devices=["/cpu:0", "/cpu:1"])
    dealt = contrib.distribute_dataset(lambda: numbers(60).shuffle(5).batch(2)).make_initializable_iterator()
    later = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    split = later.make_dataset_iterator(numbers(60).map(noisy).shuffle(5).batch(4, drop_remainder=True))
    return {
        "dealt": (dealt.initializer, contrib.unwrap(dealt.get_next())),
        "split": (split.initialize(), later.experimental_local_results(split.get_next())),
    }


def texts(element):
    """The components of an element, as texts."""
    return [repr(np.asarray(x).tolist()) for x in tf.contrib.framework.nest.flatten(element)]


def take(session, element, limit):
    """The next elements of an iterator."""
    found = []
    while len(found) < limit:
        try:
            found.append(texts(session.run(element)))
        except tf.errors.OutOfRangeError:
            break
    return found


class Pipelines:
    """A session over an iterator for each pipeline, in the folder with the files that they read."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.set_random_seed(7)
            self.elements, self.initializers = {}, []
            for name, dataset in pipelines().items():
                with tf.name_scope(name):
                    iterator = dataset.make_initializable_iterator(name)
                self.initializers.append(iterator.initializer)
                element = iterator.get_next()
                ragged = isinstance(element, tf2.RaggedTensor)
                self.elements[name] = [element.flat_values, element.row_splits] if ragged else element
            for name, (initializer, element) in tower_elements().items():
                self.initializers.append(initializer)
                self.elements[name] = element
            self.step = tf.get_variable("step", initializer=0)
            self.saver = tf.train.Saver()
            self.session = tf.Session()
            self.session.run(self.step.initializer)
            self.session.run(self.initializers)

    def take(self, limit):
        """Name -> next elements."""
        return {name: take(self.session, element, limit) for name, element in self.elements.items()}

    def close(self):
        self.session.close()


class Killed(Exception):
    """A training is killed."""


class Kill(tf.train.SessionRunHook):
    """Kills a training before a run of its session."""

    def __init__(self, runs):
        self.left = runs

    def before_run(self, run_context):
        if self.left == 0:
            raise Killed
        self.left -= 1


STOP, END = 4, 8
"""Steps of training to the checkpoint that is stored, and at the end."""


def monitored(folder, hooks):
    """Trains in a ``MonitoredTrainingSession`` from what is in the folder; what the last steps see."""
    seen = []
    with tf.Graph().as_default():
        tf.set_random_seed(5)
        step = tf.train.get_or_create_global_step()
        x = table(24).shuffle(6).repeat().batch(3).make_one_shot_iterator().get_next()[1]
        w = tf.get_variable("w", [2], initializer=tf.constant_initializer(0.5))
        loss = tf.reduce_mean(tf.square(tf.nn.dropout(x[:, None] * w, 0.5) - 1) * 1e-3)
        train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, step)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=[tf.train.StopAtStepHook(last_step=END), *hooks], save_checkpoint_steps=STOP,
            save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
        ) as session:  # fmt: skip
            while not session.should_stop():
                _, now, value, weights = session.run([train, step, x, w])
                seen.append([int(now), np.asarray(value).tolist(), np.asarray(weights).tolist()])
    return seen[-STOP:]


def batches(size):
    data = tf.data.Dataset.from_tensor_slices(np.arange(24, dtype=np.float32)[:, None])
    data = data.map(lambda x: ({"x": x + tf.random_uniform([1])}, x)).shuffle(6).repeat()
    return data.batch(size, drop_remainder=True)


def model(features, labels, rule):
    """(loss, what trains) of an estimator's model."""
    hidden = tf.layers.dropout(features["x"], 0.5, training=True)
    output = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())
    loss = tf.losses.mean_squared_error(labels, output)
    return loss, rule.minimize(loss, tf.train.get_global_step())


def settings():
    return {"tf_random_seed": 11, "save_checkpoints_steps": STOP, "log_step_count_steps": None}


def trained(estimator, input_fn, hooks):
    """The values of the variables after a training."""
    estimator.train(input_fn, hooks, max_steps=END)
    return {name: estimator.get_variable_value(name).tolist() for name in sorted(estimator.get_variable_names())}


def estimator(folder, hooks):
    def model_fn(features, labels, mode):
        loss, train = model(features, labels, tf.train.AdamOptimizer(0.01))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    made = tf.estimator.Estimator(model_fn, folder, tf.estimator.RunConfig(**settings()))
    return trained(made, lambda: batches(4), hooks)


def tpu_estimator(folder, hooks):
    """On two towers, two steps in each run."""
    tpu = tf.contrib.tpu

    def model_fn(features, labels, mode, params):
        loss, train = model(features, labels, tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.01)))
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)

    config = tpu.RunConfig(tpu_config=tpu.TPUConfig(iterations_per_loop=2, num_shards=2), **settings())
    made = tpu.TPUEstimator(model_fn, folder, config, train_batch_size=4)
    return trained(made, lambda params: batches(params["batch_size"]), hooks)


TRAINING = {monitored: STOP, estimator: STOP, tpu_estimator: STOP // 2}
"""Trainings in a folder, and the runs of a session to the checkpoint that is stored."""
