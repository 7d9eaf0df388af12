"""The kinds of input of towers, each in a case that gives what the towers got: ``input_program.py CASES PLACE``.

It is run in one process and in several. ``PLACE`` is a folder for checkpoints.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import jax
import numpy as np

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from towerstrat.data.pipeline.element_functions import _Program
from towerstrat.graph.eager import mode
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES

LENGTHS = [0, 1, 3, 4, 5, 8, 11, 12]
"""Of elements, with global batches of four: none to three of them."""


class Counts:
    """How many elements a map of this process has made."""

    made = 0

    @classmethod
    def of(cls, x):
        def count(value):
            cls.made += 1
            return value

        return tf1.py_func(count, [x], x.dtype, stateful=False)


def numbers(length, batch, drop=False):
    data = tf1.data.Dataset.range(length).map(lambda x: tf1.cast(x, tf1.float32) * 2.0)
    return data.shuffle(5, seed=3).batch(batch, drop_remainder=drop)


def replicas():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    return tf.distribute.TPUStrategy(resolver)


def towers(steps=1):
    return tf1.contrib.distribute.TPUStrategy(
        tf1.contrib.cluster_resolver.TPUClusterResolver(tpu=""), steps, num_cores=len(jax.devices())
    )


def parts(strategy, value):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(value)]


def caught(error):
    return [type(error).__name__, str(error).splitlines()[0]]


# ---- the same pipeline in all processes ------------------------------------------------------------------------------


def eager_elements():
    """Elements of a distributed dataset, one by one, with uneven last batches and as optionals."""
    strategy, found = replicas(), []
    for length in LENGTHS:
        for drop in (False, True):
            data = strategy.experimental_distribute_dataset(numbers(length, 4, drop))
            found.append([length, drop, [parts(strategy, element) for element in data]])
    iterator = iter(strategy.experimental_distribute_dataset(numbers(6, 4)))
    for _ in range(3):
        optional = iterator.get_next_as_optional()
        there = bool(optional.has_value())
        found.append([there, parts(strategy, optional.get_value()) if there else None])
    return found


def functions():
    """Loops over a distributed dataset, and single elements, in functions."""
    strategy, found = replicas(), []
    with strategy.scope():
        total = tf.Variable(0.0)

    def step(element):
        share = strategy.run(lambda x: tf.reduce_sum(x), args=(element,))
        total.assign(total * 0.5 + strategy.reduce("SUM", share, axis=None))

    @tf.function
    def loop(data):
        for element in data:
            step(element)

    @tf.function
    def one(iterator):
        step(next(iterator))

    @tf.function
    def until(data):
        for element in data:
            if total > 20.0:
                break
            step(element)

    for length in LENGTHS:
        for drop in (False, True):
            total.assign(0.0)
            loop(strategy.experimental_distribute_dataset(numbers(length, 4, drop)))
            found.append([length, drop, float(total)])
    total.assign(0.0)
    until(strategy.experimental_distribute_dataset(numbers(24, 4, True)))
    found.append(float(total))
    total.assign(0.0)
    iterator = iter(strategy.experimental_distribute_dataset(numbers(8, 4, True)))
    for _ in range(3):
        try:
            one(iterator)
            found.append(float(total))
        except tf.errors.OutOfRangeError:
            found.append("end")
    return found


def step_loop(dataset_fn, steps, runs):
    """What run_steps_on_dataset gives of a variable and of the last step in each run; ends, or errors."""
    strategy, found = towers(steps), []
    with tf1.Graph().as_default(), strategy.scope():
        total = tf1.get_variable(
            "total", [], initializer=tf1.zeros_initializer(), aggregation=tf1.VariableAggregation.MEAN
        )
        iterator = strategy.distribute_dataset(dataset_fn).make_initializable_iterator()

        def step(context, element):
            def tower(element):
                share = tf1.contrib.tpu.cross_replica_sum(tf1.reduce_sum(element))
                return share, total.assign(total * 0.5 + share)

            share, update = strategy.call_for_each_tower(tower, element, run_concurrently=False)
            context.set_last_step_output("share", share, tf1.VariableAggregation.MEAN)
            return strategy.group(update)

        made = strategy.run_steps_on_dataset(step, iterator, steps, {"share": tf1.constant(0.0)})
        with tf1.Session() as session:
            session.run([tf1.global_variables_initializer(), iterator.initializer])
            for _ in range(runs):
                try:
                    _, share = session.run([made.run_op, made.last_step_outputs["share"]])
                    found.append([float(np.mean(share)), float(session.run(total))])
                except tf1.errors.OpError as error:
                    found.append(["end", float(session.run(total)), type(error).__name__, error.message])
                    break
    return found


def step_loops():
    """run_steps_on_dataset, of one element for each tower."""
    found = []
    for length in LENGTHS:
        for steps in (1, 2, 3):
            runs = step_loop(lambda n=length: numbers(n, 1, True), steps, 4)
            found += [[length, steps, run[:3]] for run in runs]
    return found


def single_elements():
    """get_next() of a distributed dataset in each run of a session."""
    found = []
    for length in LENGTHS:
        with tf1.Graph().as_default():
            strategy = towers()
            with strategy.scope():
                iterator = strategy.distribute_dataset(lambda n=length: numbers(n, 1)).make_one_shot_iterator()
                element = iterator.get_next()
                doubled = strategy.call_for_each_tower(lambda x: x * 2.0, element, run_concurrently=False)
                fetched = [strategy.unwrap(doubled), strategy.unwrap(element)]
            with tf1.Session() as session:
                while True:
                    try:
                        found.append([length, [[part.tolist() for part in value] for value in session.run(fetched)]])
                    except tf1.errors.OutOfRangeError:
                        break
    return found


def parsed_records():
    """Records that are parsed before and behind a shuffle, in files in turn, in batches, and in step with draws."""
    folder, strategy, found = Path(sys.argv[2]), replicas(), []
    names = [str(folder / f"{i}.records") for i in range(2)]
    for first, name in enumerate(names if PROCESSES.index == 0 else []):
        with tf.io.TFRecordWriter(name) as writer:
            for i in range(first, 22, 2):
                values = tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5]))
                number = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
                features = tf.train.Features(feature={"values": values, "number": number})
                writer.write(tf.train.Example(features=features).SerializeToString())
    if PROCESSES.count > 1:
        COLLECTIVES.gather("written", str)
    spec = {"values": tf.io.FixedLenFeature([2], tf.float32), "number": tf.io.FixedLenFeature([], tf.int64)}

    def one(record):
        return tf.io.parse_single_example(record, spec)

    def drawn(record):
        return {**record, "values": record["values"] + tf.random.uniform([2], seed=4)}

    records, files = tf.data.TFRecordDataset(names), tf.data.Dataset.from_tensor_slices(names)
    in_turn = files.interleave(lambda name: tf.data.TFRecordDataset(name).map(one), 2)
    for data in (
        records.map(one, 2).shuffle(9, seed=1).map(drawn).repeat(2).batch(8),
        in_turn.map(drawn).skip(1).shuffle(5, seed=2).batch(8, drop_remainder=True).prefetch(1),
        records.shuffle(9, seed=3)
        .batch(8)
        .map(lambda texts: tf.io.parse_example(texts, spec))
        .map(lambda record: {**record, "values": record["values"][:, ::-1] * 2.0}),
    ):
        elements = strategy.experimental_distribute_dataset(data)
        found.append([[parts(strategy, element[name]) for name in sorted(element)] for element in elements])
    return found


# ---- a pipeline of its own in each process ---------------------------------------------------------------------------


def own_numbers(context, lengths, batch=2):
    """A pipeline of so many batches in each process, whose elements say whose they are; the last one is shorter."""
    mine = context.input_pipeline_id
    data = tf1.data.Dataset.range(lengths[mine] * batch).map(lambda x: tf1.cast(x, tf1.float32) + 100.0 * mine)
    return data.batch(batch, drop_remainder=True)


def failing(context, at, batch=1):
    """Endless batches; process 1 raises for one of its elements."""
    mine = context.input_pipeline_id

    def checked(x):
        bad = tf1.logical_and(tf1.equal(x, at), mine == 1)
        with tf1.control_dependencies([tf1.Assert(tf1.logical_not(bad), ["bad element", x])]):
            return tf1.cast(x, tf1.float32)

    return tf1.data.Dataset.range(1000).map(checked).batch(batch, drop_remainder=True)


def contexts_of_input():
    """What an input function is told."""
    strategy, told = replicas(), []

    def made(context):
        told.append([context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync])
        told.append(context.get_per_replica_batch_size(8))
        return tf.data.Dataset.range(8).shard(context.num_input_pipelines, context.input_pipeline_id).batch(1)

    data = strategy.distribute_datasets_from_function(made)
    return [told, [parts(strategy, element) for element in data]]


def own_elements():
    """Elements of pipelines of different lengths, one by one; what ended first ends all, and nothing is lost."""
    strategy, found = replicas(), []
    for lengths in ([4, 4], [6, 2], [2, 7], [0, 3], [5, 4]):
        data = strategy.distribute_datasets_from_function(lambda context, n=lengths: own_numbers(context, n))
        iterator = iter(data)
        found.append([lengths, [parts(strategy, element) for element in iterator]])
        try:
            iterator.get_next()
        except tf.errors.OutOfRangeError as error:
            found.append(error.message)
        left = iterator.handle.array.item()
        found.append(
            [
                PROCESSES.index,
                np.asarray(left.next()[0]).tolist() if lengths[PROCESSES.index] // 2 > min(lengths) // 2 else None,
            ]
        )
    return found


def own_loops():
    """Loops in functions over pipelines of different lengths."""
    strategy, found = replicas(), []
    with strategy.scope():
        total = tf.Variable(0.0)

    @tf.function
    def loop(data):
        for element in data:
            share = strategy.run(lambda x: tf.reduce_sum(x), args=(element,))
            total.assign(total * 0.5 + strategy.reduce("SUM", share, axis=None))

    for lengths in ([4, 4], [6, 2], [2, 40], [0, 3], [61, 60]):
        total.assign(0.0)
        loop(strategy.distribute_datasets_from_function(lambda context, n=lengths: own_numbers(context, n)))
        found.append([lengths, float(total)])
    return found


def own_uneven():
    """Elements whose shapes differ by process."""
    strategy = replicas()

    def made(context):
        sizes = [1, 3, 2, 2] if context.input_pipeline_id else [2, 2, 2, 1]
        return tf.data.Dataset.from_generator(lambda: (np.full(n, i, np.int32) for i, n in enumerate(sizes)), tf.int32)

    return [parts(strategy, element) for element in strategy.distribute_datasets_from_function(made)]


def until_all_have_ended():
    """Pipelines of several workers, of different lengths: batches of nothing until the last one ends."""
    strategy, found = tf.distribute.MultiWorkerMirroredStrategy(), []
    with strategy.scope():
        total, count = tf.Variable(0.0), tf.Variable(0)

    def step(element):
        share = strategy.run(lambda x: (tf.reduce_sum(x), tf.shape(x)[0]), args=(element,))
        total.assign(total * 0.5 + strategy.reduce("SUM", share[0], axis=None))
        count.assign_add(strategy.reduce("SUM", share[1], axis=None))

    @tf.function
    def loop(data):
        for element in data:
            step(element)

    @tf.function
    def optionals(iterator):
        optional = iterator.get_next_as_optional()
        while optional.has_value():
            step(optional.get_value())
            optional = iterator.get_next_as_optional()

    for lengths in ([4, 4], [6, 2], [2, 21], [0, 3], [0, 0], [5, 4]):
        data = strategy.distribute_datasets_from_function(lambda context, n=lengths: own_numbers(context, n))
        found.append([lengths, str(data.element_spec), [parts(strategy, element) for element in data]])
        for run in (loop, lambda data: optionals(iter(data))):
            total.assign(0.0)
            count.assign(0)
            run(data)
            found.append([float(total), int(count)])
    endless = strategy.distribute_datasets_from_function(lambda context: own_numbers(context, [4, 4]).repeat())
    found.append(str(endless.element_spec))
    # Where shapes are not known, replicas of all strategies go on.
    data = replicas().distribute_datasets_from_function(lambda context: own_numbers(context, [2, 5]).unbatch().batch(2))
    found.append([parts(strategy, element) for element in data])
    return found


def waiting_is_a_place():
    """The state of iterators of which one has ended and waits for the other, and what is left from there."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    data = strategy.distribute_datasets_from_function(lambda context: own_numbers(context, [2, 6]))
    first, second = iter(data), iter(data)
    next(first), next(first)
    state = first.handle.array.item().state()
    found = [sorted(state)]
    second.handle.array.item().resume(state)
    return [*found, *([parts(strategy, element) for element in iterator] for iterator in (first, second))]


def own_texts():
    """Texts of pipelines of the processes' own, and the numbers that a table has for them."""
    strategy, found = tf.distribute.MultiWorkerMirroredStrategy(), []
    words = [[b"a", b"bb", b"", b"d\0", b"a"], [b"bb", b"bb", b"\xff\0", b"d\0", b"d\0", b"a", b"long" * 9]]
    keys = tf.lookup.KeyValueTensorInitializer(tf.constant([b"a", b"bb", b"d\0"]), tf.constant([1, 20, 300]))
    table = tf.lookup.StaticHashTable(keys, -1000)

    def made(context):
        data = tf.data.Dataset.from_tensor_slices(words[context.input_pipeline_id])
        return data.map(lambda text: {"text": text, "number": table.lookup(text)}).batch(2)

    @tf.function
    def step(numbers):
        return strategy.reduce("SUM", strategy.run(lambda x: tf.reduce_sum(x), args=(numbers,)), axis=None)

    for element in strategy.distribute_datasets_from_function(made):
        texts = [[text.decode("latin1") for text in part] for part in parts(strategy, element["text"])]
        found.append([texts, int(step(element["number"]))])
    single = strategy.distribute_datasets_from_function(lambda context: made(context).unbatch().repeat())
    found.append([part.decode("latin1") for part in parts(strategy, next(iter(single))["text"])])
    return found


def own_errors():
    """An exception of one process' pipeline: one by one, in a loop of a function, and what comes after it."""
    strategy, found = replicas(), []
    with strategy.scope():
        total = tf.Variable(0.0)

    @tf.function
    def loop(iterator):
        for _ in tf.range(20):
            share = strategy.run(lambda x: tf.reduce_sum(x), args=(next(iterator),))
            total.assign_add(strategy.reduce("SUM", share, axis=None))

    iterator = iter(strategy.distribute_datasets_from_function(lambda context: failing(context, 5)))
    for _ in range(4):
        try:
            found.append(parts(strategy, next(iterator)))
        except tf.errors.InvalidArgumentError as error:
            found.append(["raised", error.message])
    iterator = iter(strategy.distribute_datasets_from_function(lambda context: failing(context, 5)))
    try:
        loop(iterator)
    except tf.errors.InvalidArgumentError as error:
        found.append(["raised", error.message])
    found.append([float(total), parts(strategy, next(iterator))])
    return found


def input_fn_loop(input_fn, steps, runs):
    """What experimental_run_steps_on_iterator gives over make_input_fn_iterator."""
    found = []
    with tf1.Graph().as_default():
        strategy = tf1.distribute.experimental.TPUStrategy(tf1.distribute.cluster_resolver.TPUClusterResolver(tpu=""))
        with strategy.scope():
            total = tf1.get_variable("total", [], initializer=tf1.zeros_initializer(), use_resource=True)
            iterator = strategy.make_input_fn_iterator(input_fn)

            def step(context, element):
                def tower(element):
                    return tf1.reduce_sum(element)

                share = strategy.reduce("SUM", strategy.experimental_run_v2(tower, args=(element,)), axis=None)
                return total.assign(total * 0.5 + share)

            made = strategy.extended.experimental_run_steps_on_iterator(step, iterator, steps)
        with tf1.Session() as session:
            session.run([tf1.global_variables_initializer(), *iterator.initialize()])
            for _ in range(runs):
                try:
                    session.run(made.run_op)
                    found.append(float(session.run(total)))
                except tf1.errors.OpError as error:
                    found.append([type(error).__name__, error.message, float(session.run(total))])
            resource = next(iter(session.positions.values()))
            found.append([PROCESSES.index, resource.used])
    return found


def own_step_loops():
    """Step loops over pipelines of different lengths, and of one that raises."""
    found = []
    for lengths in ([8, 8], [13, 8], [9, 16], [0, 6]):
        for steps in (1, 3):
            found.append([lengths, steps, input_fn_loop(lambda c, n=lengths: own_numbers(c, n), steps, 4)])
    found.append(input_fn_loop(lambda context: failing(context, 5), 4, 2))
    return found


# ---- files, options, resumption ----------------------------------------------------------------------------------


def policies():
    """What replicas get of six files of four records each, by the policies of auto-sharding."""
    strategy, found = replicas(), {}
    folder = Path(sys.argv[2])
    names = [str(folder / f"{i}.txt") for i in range(6)]
    for i, name in enumerate(names):
        Path(name).write_text("".join(f"{10 * i + n}\n" for n in range(4)))
    whole = tf.data.Dataset.from_tensor_slices(names)
    kinds = {
        "files": tf.data.TextLineDataset(names),
        "interleaved": whole.interleave(tf.data.TextLineDataset, cycle_length=2, block_length=1),
    }
    for kind, lines in kinds.items():
        for policy in ("AUTO", "DATA", "FILE", "OFF"):
            options = tf.data.Options()
            options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
            data = lines.map(lambda x: tf.strings.to_number(x, tf.int32)).batch(8).with_options(options)
            data = strategy.experimental_distribute_dataset(data)
            found[f"{kind} {policy}"] = [parts(strategy, element) for element in data]
    return found


def different_pipelines():
    """A dataset that each process has made in another way: refused, or each process' own."""
    strategy = replicas()
    data = tf.data.Dataset.range(16 + 8 * PROCESSES.index).batch(8)
    try:
        strategy.experimental_distribute_dataset(data)
    except tf.errors.FailedPreconditionError as error:
        return error.message
    return None


def sharded_by_hand():
    """1.12's distribute_dataset, with a function that divides the data itself, or leaves it to the strategy."""
    found = []
    for sharded in (False, True):
        with tf1.Graph().as_default():
            strategy = tf1.contrib.distribute.MirroredStrategy(auto_shard_dataset=sharded)

            def made(sharded=sharded):
                data = tf1.data.Dataset.range(12)
                return (data if sharded else data.shard(PROCESSES.count, PROCESSES.index)).batch(1, drop_remainder=True)

            with strategy.scope():
                element = strategy.distribute_dataset(made).make_one_shot_iterator().get_next()
                fetched = strategy.unwrap(element)
            with tf1.Session() as session:
                while True:
                    try:
                        found.append([np.asarray(part).tolist() for part in session.run(fetched)])
                    except tf1.errors.OutOfRangeError:
                        break
    return found


def resumed():
    """Totals of a run that is cut, one that goes on from its checkpoint, and one in one go: own pipelines, and one."""
    found = []
    for own in (True, False):
        found.append([_run_of_two(own, None, 2), _run_of_two(own, "restore", 2), _run_of_two(own, None, 4)])
    return found


def _run_of_two(own, restore, runs):
    prefix = f"{sys.argv[2]}/model-{own}-"
    with tf1.Graph().as_default():
        tf1.set_random_seed(1)
        strategy = tf1.distribute.experimental.TPUStrategy(tf1.distribute.cluster_resolver.TPUClusterResolver(tpu=""))
        with strategy.scope():
            total = tf1.get_variable("total", [], initializer=tf1.zeros_initializer(), use_resource=True)
            if own:
                iterator = strategy.make_input_fn_iterator(lambda context: own_numbers(context, [40, 40]).shuffle(6))
            else:
                iterator = strategy.make_dataset_iterator(numbers(80, 4, True).repeat())

            def step(context, element):
                share = strategy.reduce(
                    "SUM", strategy.experimental_run_v2(lambda x: tf1.reduce_sum(x), args=(element,)), axis=None
                )
                return total.assign(total * 0.5 + share)

            made = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 3)
        saver = tf1.train.Saver([total])
        with tf1.Session() as session:
            if restore:
                saver.restore(session, f"{prefix}0")  # All go on from what the first process has saved.
                session.run(iterator.initialize())
            else:
                session.run([tf1.global_variables_initializer(), *iterator.initialize()])
            for _ in range(runs):
                session.run(made.run_op)
            saver.save(session, f"{prefix}{PROCESSES.index}")
            if PROCESSES.count > 1:
                COLLECTIVES.gather("saved", str)
            return float(session.run(total))


def images(length, batch, seed=None, bad=None, drop=False):
    """Images that are decoded, drawn on and batched; the one with number ``bad`` cannot be decoded."""
    numbers = np.random.default_rng(1).integers(0, 255, (length, 6, 5, 3), np.uint8)
    encoded = [encode_png(image) for image in numbers]
    if bad is not None:
        encoded[bad] = b"no image"
    data = tf.data.Dataset.from_tensor_slices((np.array(encoded, object), np.arange(length)))
    if seed is not None:
        data = data.shuffle(4, seed=seed)

    def decoded(png, number):
        image = tf.image.resize_with_crop_or_pad(tf.image.decode_png(png, 3), 4, 4)
        return tf.cast(image, tf.float32) / 255.0, number

    def drawn(image, number):
        return image * tf.random.uniform([], seed=5) + tf.random.normal([4, 4, 3], seed=6), number

    return data.map(decoded, 2).map(drawn).batch(batch, drop_remainder=drop).prefetch(1)


def encode_png(image):
    return tf.io.encode_png(image).numpy()


def own_images():
    """What replicas get of images, and how many a process has decoded."""
    strategy, found = replicas(), []
    run, made = _Program.run, Counter()

    def counted(self, *arguments):
        made[self.function.name] += any(op.type.startswith("Decode") for op in self.function.graph.get_operations())
        return run(self, *arguments)

    _Program.run = counted
    for length, drop in ((0, False), (3, False), (8, False), (13, False), (13, True), (16, True)):
        made.clear()
        data = strategy.experimental_distribute_dataset(images(length, 8, seed=2, drop=drop))
        found.append([[[part.numpy().tolist() for part in strategy.experimental_local_results(image)],
                       parts(strategy, number)] for image, number in data])  # fmt: skip
        found.append({"made": sum(made.values())})
    _Program.run = run
    return found


def dealt_images():
    """What towers get of batches of images, each tower its own, and how many images a process has decoded."""
    with mode.eager_mode():
        encoded = [encode_png(np.full([4, 4, 3], i, np.uint8)) for i in range(22)]
    run, made, found = _Program.run, Counter(), []

    def counted(self, *arguments):
        made[self.function.name] += any(op.type.startswith("Decode") for op in self.function.graph.get_operations())
        return run(self, *arguments)

    def decoded(png):
        image = tf1.image.decode_png(png, 3)
        return tf1.cast(tf1.image.resize_image_with_crop_or_pad(image, 4, 4), tf1.float32)[0, 0, 0]

    def dataset():
        data = tf1.data.Dataset.from_tensor_slices(np.array(encoded, object)).shuffle(5, seed=4)
        return data.map(decoded).batch(2, drop_remainder=True)

    _Program.run = counted
    with tf1.Graph().as_default():
        strategy = towers()
        with strategy.scope():
            fetched = strategy.unwrap(strategy.distribute_dataset(dataset).make_one_shot_iterator().get_next())
        with tf1.Session() as session:
            while True:
                try:
                    found.append([part.tolist() for part in session.run(fetched)])
                except tf1.errors.OutOfRangeError:
                    break
    _Program.run = run
    return [found, sum(made.values())]


def bad_image():
    """An image that one process fails to decode: it is raised in all, and the batches behind it are the same in all."""
    strategy, found = replicas(), []
    data = strategy.experimental_distribute_dataset(images(24, 8, bad=13))

    @tf.function
    def numbers(iterator):
        return strategy.run(lambda image, number: number, args=next(iterator))

    @tf.function
    def loop(iterator):
        total = tf.zeros([], tf.int64)
        for _ in tf.range(5):
            share = strategy.run(lambda image, number: tf.reduce_sum(number), args=next(iterator))
            total += strategy.reduce("SUM", share, axis=None)
        return total

    for take in (lambda iterator: next(iterator)[1], numbers):
        iterator = iter(data)
        for _ in range(4):
            try:
                found.append(parts(strategy, take(iterator)))
            except (tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError, StopIteration) as error:
                found.append(type(error).__name__)
    iterator = iter(data)
    try:
        loop(iterator)
    except tf.errors.InvalidArgumentError as error:
        found.append(["raised", error.message])
    found.append(parts(strategy, next(iterator)[1]))
    return found


def bad_image_in_steps():
    """The same in a step loop."""
    found = []
    with mode.eager_mode():
        encoded = [encode_png(np.full([4, 4, 3], i, np.uint8)) for i in range(24)]
    encoded[13] = b"no image"
    with tf1.Graph().as_default():
        strategy = tf1.distribute.experimental.TPUStrategy(tf1.distribute.cluster_resolver.TPUClusterResolver(tpu=""))
        with strategy.scope():
            total = tf1.get_variable("total", [], initializer=tf1.zeros_initializer(), use_resource=True)
            data = tf1.data.Dataset.from_tensor_slices(np.array(encoded, object))

            def decoded(png):
                return tf1.cast(
                    tf1.image.resize_image_with_crop_or_pad(tf1.image.decode_png(png, 3), 4, 4), tf1.float32
                )

            iterator = strategy.make_dataset_iterator(data.map(decoded).batch(8, drop_remainder=True))

            def step(context, image):
                share = strategy.experimental_run_v2(lambda x: tf1.reduce_sum(x[:, 0, 0, 0]), args=(image,))
                return total.assign_add(strategy.reduce("SUM", share, axis=None))

            made = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 3)
            one = strategy.extended.experimental_run_steps_on_iterator(step, iterator, 1)
        with tf1.Session() as session:
            session.run([tf1.global_variables_initializer(), *iterator.initialize()])
            for run in (made, one, one):
                try:
                    session.run(run.run_op)
                    found.append(float(session.run(total)))
                except tf1.errors.OpError as error:
                    found.append([type(error).__name__, float(session.run(total)), "process 1, of 2" in error.message])
    return found


def estimators(kinds=("PER_HOST_V1", "PER_HOST_V2", "PER_SHARD_V1", "BROADCAST"), sharded=True):
    """What input functions of TPUEstimator are told, and where training and evaluation come to, in the input modes."""
    found = {}
    modes = tf1.estimator.tpu.InputPipelineConfig
    for kind in kinds:
        told = []

        def input_fn(params, told=told):
            context = params["context"]
            _, call, calls, fed = context.current_input_fn_deployment()
            told.append([context.num_hosts, context.current_host, call, calls, fed, params["batch_size"]])
            data = tf1.data.Dataset.range(48)
            data = data.shard(calls, call) if sharded else data.shuffle(48)
            data = data.map(lambda x: tf1.cast(x, tf1.float32))
            return data.batch(params["batch_size"], drop_remainder=True)

        def model_fn(features, labels, mode, params):
            total = tf1.get_variable("total", [], initializer=tf1.zeros_initializer())
            loss = tf1.reduce_mean((total - features) ** 2)
            train = None
            if mode == tf1.estimator.ModeKeys.TRAIN:
                optimizer = tf1.tpu.CrossShardOptimizer(tf1.train.GradientDescentOptimizer(0.1))
                train = optimizer.minimize(loss, tf1.train.get_global_step())
            metrics = (lambda x: {"mean": tf1.metrics.mean(x)}, [features])
            return tf1.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train, eval_metrics=metrics)

        place = f"{sys.argv[2]}/{kind}-{sharded}-{PROCESSES.count}"
        tpu = tf1.estimator.tpu.TPUConfig(2, per_host_input_for_training=getattr(modes, kind))
        config = tf1.estimator.tpu.RunConfig(tpu_config=tpu, model_dir=place, save_checkpoints_steps=4)
        estimator = tf1.estimator.tpu.TPUEstimator(
            model_fn, config=config, train_batch_size=8, eval_batch_size=8, params={}
        )
        estimator.train(input_fn, max_steps=4)
        mean = estimator.evaluate(input_fn, steps=3)["mean"]
        found[kind] = [told, float(estimator.get_variable_value("total")), float(mean)]
    return found


def alike_estimators():
    """Where training and evaluation come to with input functions that take no notice of the host."""
    return [numbers for _, *numbers in estimators(("PER_HOST_V1", "PER_HOST_V2"), sharded=False).values()]


def alike_functions():
    """Elements of input functions that take no notice of the process; the last ones do not suffice for all replicas."""
    strategy = replicas()
    data = strategy.distribute_datasets_from_function(lambda _: tf.data.Dataset.range(22).shuffle(22, seed=2).batch(2))
    return [parts(strategy, element) for element in data]


def main(cases, place):
    tf1.disable_eager_execution()
    for name in cases.split(","):
        with mode.eager_mode() if name in EAGER else tf1.Graph().as_default():
            print(json.dumps([name, globals()[name]()]), flush=True)


EAGER = {
    "parsed_records", "own_texts", "until_all_have_ended", "waiting_is_a_place",
    "eager_elements", "functions", "contexts_of_input", "own_elements", "own_loops", "own_uneven", "own_errors",
    "policies", "different_pipelines", "own_images", "bad_image", "alike_functions",
}  # fmt: skip

if __name__ == "__main__":
    main(*sys.argv[1:])
