"""Datasets that are compared with the original, written against its public names.

``CASES`` maps a name to a function of the namespace ``tf`` that returns a dataset. Read by the script that runs the
original (Python 3.6) and by the tests.
"""

import collections

import numpy as np

Pair = collections.namedtuple("Pair", ["left", "right"])


def _tens(tf):
    return lambda x: tf.data.Dataset.range(10 * x, 10 * x + x)


def _filled(tf):
    return tf.data.Dataset.range(1, 6).map(lambda x: tf.fill([x], x))


def _lengths(tf, lengths):
    generator = lambda: ([i] * n for i, n in enumerate(lengths))  # noqa: E731
    return tf.data.Dataset.from_generator(generator, tf.int32, [None])


def _numbers(tf, values):
    return tf.data.Dataset.from_tensor_slices(np.array(values, np.int64))


def _bad_at_two(tf):
    return tf.data.Dataset.range(6).map(lambda x: tf.fill([1 - 2 * tf.cast(tf.equal(x, 2), tf.int32)], x))


def _length(tf):
    return lambda x: tf.shape(x)[0]


CASES = {
    # where elements come from
    "from_tensors": lambda tf: tf.data.Dataset.from_tensors(([1, 2], {"b": 1.5, "a": [["x"]]})),
    "slices_structure": lambda tf: tf.data.Dataset.from_tensor_slices(({"x": [[1, 2], [3, 4]]}, ["a", "b"])),
    "slices_namedtuple": lambda tf: tf.data.Dataset.from_tensor_slices(Pair([1, 2], [3.0, 4.0])),
    "slices_float64": lambda tf: tf.data.Dataset.from_tensor_slices(np.arange(3) / 2.0),
    "slices_scalar": lambda tf: tf.data.Dataset.from_tensor_slices(1),
    "slices_unequal": lambda tf: tf.data.Dataset.from_tensor_slices(([1, 2], [1])),
    "range": lambda tf: tf.data.Dataset.range(5),
    "range_step": lambda tf: tf.data.Dataset.range(5, 0, -2),
    "range_empty": lambda tf: tf.data.Dataset.range(5, 0),
    "range_none": lambda tf: tf.data.Dataset.range(),
    "generator": lambda tf: tf.data.Dataset.from_generator(lambda: iter([(1, "a"), (2, "b")]), (tf.int32, tf.string)),
    "generator_shapes": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([([1, 2], 3)]), (tf.float32, tf.int64), ([None], [])
    ),
    "generator_args": lambda tf: tf.data.Dataset.from_generator(lambda n: range(n), tf.int64, args=(3,)),
    "generator_truncates": lambda tf: tf.data.Dataset.from_generator(lambda: iter([1.5]), tf.int32),
    "generator_wrong_type": lambda tf: tf.data.Dataset.from_generator(lambda: iter(["a"]), tf.float32),
    "generator_wrong_shape": lambda tf: tf.data.Dataset.from_generator(lambda: iter([[1, 2]]), tf.float32, [3]),
    "zip": lambda tf: tf.data.Dataset.zip((tf.data.Dataset.range(3), {"a": tf.data.Dataset.range(10, 12)})),
    "zip_list": lambda tf: tf.data.Dataset.zip([tf.data.Dataset.range(3)]),
    # selection and order
    "take": lambda tf: tf.data.Dataset.range(3).take(2),
    "take_all": lambda tf: tf.data.Dataset.range(3).take(-1),
    "skip": lambda tf: tf.data.Dataset.range(3).skip(2),
    "skip_all": lambda tf: tf.data.Dataset.range(3).skip(-1),
    "shard": lambda tf: tf.data.Dataset.range(10).shard(3, 1),
    "shard_outside": lambda tf: tf.data.Dataset.range(10).shard(3, 3),
    "repeat": lambda tf: tf.data.Dataset.range(2).repeat(3),
    "repeat_none": lambda tf: tf.data.Dataset.range(2).repeat(0),
    "repeat_endless": lambda tf: tf.data.Dataset.range(2).repeat().take(5),
    "repeat_empty": lambda tf: tf.data.Dataset.range(0).repeat(),
    "shuffle_one": lambda tf: tf.data.Dataset.range(4).shuffle(1),
    "shuffle_nothing": lambda tf: tf.data.Dataset.range(4).shuffle(0),
    "concatenate": lambda tf: tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(5, 7)),
    "concatenate_shapes": lambda tf: tf.data.Dataset.from_tensors([1, 2]).concatenate(
        tf.data.Dataset.from_tensors([1])
    ),
    "concatenate_types": lambda tf: tf.data.Dataset.range(2).concatenate(tf.data.Dataset.from_tensors(1.0)),
    "cache": lambda tf: tf.data.Dataset.range(3).filter(lambda x: x > 0).cache().repeat(2),
    "prefetch": lambda tf: tf.data.Dataset.range(3).map(lambda x: x + 1).prefetch(2),
    "prefetch_to_device": lambda tf: tf.data.Dataset.range(3).apply(tf.contrib.data.prefetch_to_device("/cpu:0")),
    "copy_to_device": lambda tf: tf.data.Dataset.range(3).apply(tf.contrib.data.copy_to_device("/cpu:0")),
    "shuffle_and_repeat": lambda tf: tf.data.Dataset.range(2).apply(tf.contrib.data.shuffle_and_repeat(1, 2)),
    # batches
    "batch": lambda tf: tf.data.Dataset.range(5).batch(2),
    "batch_drop": lambda tf: tf.data.Dataset.range(5).batch(2, drop_remainder=True),
    "batch_tensor": lambda tf: tf.data.Dataset.range(5).batch(tf.constant(2, tf.int64), True),
    "batch_strings": lambda tf: tf.data.Dataset.from_tensor_slices(["a", "bc", "d"]).map(lambda s: s).batch(2),
    "batch_none": lambda tf: tf.data.Dataset.range(5).batch(0),
    "batch_unequal": lambda tf: _filled(tf).batch(2),
    "padded": lambda tf: _filled(tf).padded_batch(2, [None]),
    "padded_size": lambda tf: _filled(tf).padded_batch(2, [6]),
    "padded_value": lambda tf: _filled(tf).padded_batch(2, [-1], tf.constant(9, tf.int64), drop_remainder=True),
    "padded_too_small": lambda tf: _filled(tf).padded_batch(2, [2]),
    "padded_contradiction": lambda tf: tf.data.Dataset.from_tensors([1, 2, 3]).padded_batch(2, [2]),
    "padded_value_type": lambda tf: tf.data.Dataset.from_tensors([1, 2]).padded_batch(2, [None], padding_values=1.0),
    "padded_structure": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([(["a"], 1), (["b", "c"], 2)]), (tf.string, tf.int32), ([None], [])
    ).padded_batch(2, ([None], [])),
    "padded_and_drop": lambda tf: _filled(tf).apply(tf.contrib.data.padded_batch_and_drop_remainder(2, [None])),
    "unbatch": lambda tf: tf.data.Dataset.from_tensors(([1, 2], ["a", "b"])).apply(tf.contrib.data.unbatch()),
    "map_and_batch": lambda tf: tf.data.Dataset.range(5).apply(
        tf.contrib.data.map_and_batch(lambda x: x + 1, 2, drop_remainder=True)
    ),
    "batch_and_drop": lambda tf: tf.data.Dataset.range(5).apply(tf.contrib.data.batch_and_drop_remainder(2)),
    # functions
    "map_tuple": lambda tf: tf.data.Dataset.range(2).map(lambda x: (1, {"b": 2.0, "a": x})),
    "map_list": lambda tf: tf.data.Dataset.range(2).map(lambda x: [x, 2.0]),
    "map_none": lambda tf: tf.data.Dataset.range(2).map(lambda x: None),
    "map_spread": lambda tf: tf.data.Dataset.from_tensor_slices(([1, 2], [3, 4])).map(lambda a, b: a * b),
    "map_dict": lambda tf: tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [3, 4]}).map(
        lambda d: d["a"] - d["b"]
    ),
    "map_namedtuple": lambda tf: tf.data.Dataset.from_tensor_slices(Pair([1, 2], [3, 4])).map(lambda p: p.left),
    "map_error": _bad_at_two,
    "map_error_batch": lambda tf: _bad_at_two(tf).batch(2),
    "filter": lambda tf: tf.data.Dataset.range(7).filter(lambda x: tf.equal(x % 2, 0)),
    "filter_not_bool": lambda tf: tf.data.Dataset.range(7).filter(lambda x: x),
    "flat_map": lambda tf: tf.data.Dataset.range(4).flat_map(_tens(tf)),
    "flat_map_tensor": lambda tf: tf.data.Dataset.range(4).flat_map(lambda x: x),
    "interleave": lambda tf: _numbers(tf, [3, 1, 4, 0, 2]).interleave(_tens(tf), 3),
    "interleave_blocks": lambda tf: _numbers(tf, [3, 1, 4, 0, 2]).interleave(_tens(tf), 2, 2),
    "interleave_short": lambda tf: _numbers(tf, [3, 1]).interleave(_tens(tf), 5, 2),
    "parallel_interleave": lambda tf: _numbers(tf, [3, 1, 4, 0, 2]).apply(
        tf.contrib.data.parallel_interleave(_tens(tf), 2, 2)
    ),
    "sloppy_interleave": lambda tf: _numbers(tf, [3]).apply(tf.contrib.data.sloppy_interleave(_tens(tf), 1)),
    "resample_as_they_are": lambda tf: tf.data.Dataset.range(4).apply(
        tf.contrib.data.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], [0.5, 0.5])
    ),
    "scan": lambda tf: tf.data.Dataset.range(5).apply(
        tf.contrib.data.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, (s, x)))
    ),
    "group_by_window": lambda tf: tf.data.Dataset.range(10).apply(
        tf.contrib.data.group_by_window(lambda x: x % 3, lambda k, d: d.map(lambda y: y + 100 * k).batch(2), 4)
    ),
    "group_by_window_func": lambda tf: tf.data.Dataset.range(10).apply(
        tf.contrib.data.group_by_window(lambda x: x % 3, lambda k, d: d.batch(9), window_size_func=lambda k: k + 1)
    ),
    "bucket": lambda tf: _lengths(tf, [1, 5, 2, 7, 3, 9, 1, 1]).apply(
        tf.contrib.data.bucket_by_sequence_length(_length(tf), [3, 6], [2, 2, 2])
    ),
    "bucket_boundary": lambda tf: _lengths(tf, [1, 5, 2, 4, 3]).apply(
        tf.contrib.data.bucket_by_sequence_length(_length(tf), [3, 6], [2, 2, 2], pad_to_bucket_boundary=True)
    ),
    # the rest
    "enumerate": lambda tf: (
        tf.data.Dataset.from_tensors({"a": 1.0}).repeat(2).apply(tf.contrib.data.enumerate_dataset(5))
    ),
    "ignore_errors": lambda tf: _bad_at_two(tf).apply(tf.contrib.data.ignore_errors()),
    "unique": lambda tf: _numbers(tf, [1, 2, 1, 3, 2]).apply(tf.contrib.data.unique()),
    "choose": lambda tf: tf.contrib.data.choose_from_datasets(
        [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)], _numbers(tf, [0, 1, 1, 1, 0, 0, 0])
    ),
    "sample_one": lambda tf: tf.contrib.data.sample_from_datasets(
        [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)], [0.0, 1.0]
    ).take(2),
    "counter": lambda tf: tf.contrib.data.Counter(3, 2).take(3),
    "assert_shape": lambda tf: _lengths(tf, [2, 2]).apply(tf.contrib.data.assert_element_shape([2])),
}


def plain(value):
    """An element, or a structure of types or shapes, as lists, dicts, strings and numbers."""
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), plain(tuple(value.tolist()))] if value.ndim else plain(value[()])
    if isinstance(value, (bytes, str)):
        return value.decode() if isinstance(value, bytes) else value
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def outcome(tf, make, limit=40):
    """What a case does: the type of the error that building it raises, or its description and elements.

    An element that fails is written as its error's type. Nothing may follow the end, and the end stays the end.
    """
    with tf.Graph().as_default():
        try:
            dataset = make(tf)
        except (TypeError, ValueError, IndexError) as error:
            return {"raises": type(error).__name__}
        types, shapes = flat(dataset.output_types), flat(dataset.output_shapes)
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        elements = []
        with tf.Session() as session:
            try:
                session.run(iterator.initializer)
            except tf.errors.OpError as error:
                return {"fails": type(error).__name__}
            for _ in range(limit if element != () else 0):
                try:
                    elements.append(plain(session.run(element)))
                except tf.errors.OutOfRangeError:
                    break
                except tf.errors.OpError as error:
                    elements.append(type(error).__name__)
        return {
            "types": [t.name for t in types],
            "shapes": [None if s.ndims is None else s.as_list() for s in shapes],
            "elements": elements,
        }


def flat(value):
    """The leaves of a structure of tuples and dicts."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    return [leaf for v in value for leaf in flat(v)] if isinstance(value, tuple) else [value]
