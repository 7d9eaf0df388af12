"""Datasets of 2.x that are compared with the original, written against its public names.

``CASES`` maps a name to a function of the namespace ``tf`` that returns a dataset, or something of one. Read by the
script that runs the original and by the tests.
"""

import numpy as np

from tests.golden.plain_values import plain


def outcome(tf, make):
    """What a case gives: of a dataset its specification, its number of elements, and these."""
    try:
        found = make(tf)
        if not isinstance(found, tf.data.Dataset):
            return plain(found)
        number = int(found.cardinality())
        first = [plain(element) for element in found.take(12)]
        return {"spec": repr(found.element_spec), "number": number, "elements": first}
    except Exception as error:
        return {"raises": type(error).__name__}


def _numbers(tf, n=10):
    return tf.data.Dataset.range(n)


def _lengths(tf, lengths=(3, 1, 4, 1, 5, 2)):
    spec = tf.TensorSpec([None], tf.int32)
    return tf.data.Dataset.from_generator(lambda: ([n] * n for n in lengths), output_signature=spec)


def _taken(tf, ds, n=2):
    it = iter(ds)
    return [next(it) for _ in range(n)], it.element_spec == ds.element_spec


def _at_the_end(tf, ask):
    it = iter(tf.data.Dataset.range(1))
    next(it)
    return ask(it)


def _summing(tf, body):
    """A function that goes through a dataset, by a loop's body."""

    @tf.function
    def run(ds):
        total = tf.constant(0, tf.int64)
        for x in ds:
            total = body(tf, total, x)
        return total

    return run


def _traces(tf):
    traced = []

    @tf.function
    def run(ds, n):
        traced.append(1)
        total = tf.constant(0, tf.int64)
        it = iter(ds)
        for _ in tf.range(n):
            total += next(it)
        return total

    of = tf.data.Dataset
    found = [run(of.range(9), 2), run(of.range(3, 9), 2), run(of.range(9).map(lambda x: x * 2), tf.constant(3))]
    return [*found, run(of.range(9), tf.constant(4)), len(traced)]


def _iterator_traces(tf):
    traced = []

    @tf.function
    def run(it):
        traced.append(1)
        return next(it)

    of = tf.data.Dataset
    one = iter(of.range(9))
    found = [run(one), run(one), run(iter(of.range(5, 9)))]
    batches = iter(of.range(9).batch(2))
    return [*found, run(batches), run(batches), run(one), len(traced)]


def _in_order(tf):
    @tf.function
    def run(first, second, n):
        found = tf.constant(0, tf.int64)
        for _ in tf.range(n):
            found = found * 10 + next(first) * next(second) + next(first)
        return found

    first, second = iter(tf.data.Dataset.range(20)), iter(tf.data.Dataset.range(3, 20))
    return [run(first, second, tf.constant(3)), next(first), next(second)]


def _steps_before_the_end(tf):
    total = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def run(it, n):
        for _ in tf.range(n):
            total.assign_add(next(it))

    it = iter(tf.data.Dataset.range(5))
    run(it, tf.constant(2))
    kind = None
    try:
        run(it, tf.constant(9))
    except tf.errors.OutOfRangeError as error:
        kind = type(error).__name__
    return [kind, total]


def _optionals(tf):
    @tf.function
    def run(it):
        total = tf.constant(0, tf.int64)
        optional = it.get_next_as_optional()
        while optional.has_value():
            total += optional.get_value()
            optional = it.get_next_as_optional()
        return total

    return run(iter(tf.data.Dataset.range(6)))


def _nested(tf):
    @tf.function
    def run(ds, epochs):
        total = tf.constant(0, tf.int64)
        for epoch in tf.range(epochs):
            for x in ds:
                total += x * tf.cast(epoch, tf.int64)
        return total

    return run(tf.data.Dataset.range(5), tf.constant(3))


def _break_leaves_the_rest(tf):
    @tf.function
    def run(it):
        total = tf.constant(0, tf.int64)
        for x in it:
            if x > 4:
                break
            total += x
        return total

    it = iter(tf.data.Dataset.range(9))
    return [run(it), next(it)]


def _made_inside(tf):
    @tf.function
    def run(n, by):
        total = tf.constant(0, tf.int64)
        for i, x in enumerate(tf.data.Dataset.range(n).map(lambda x: x * by).filter(lambda x: x % 2 == 0)):
            total += i * x
        return total

    return [
        run(tf.constant(7, tf.int64), tf.constant(3, tf.int64)),
        run(tf.constant(4, tf.int64), tf.constant(2, tf.int64)),
    ]


def _passes(tf, **arguments):
    """Whether two passes over a shuffled dataset have one order."""
    ds = tf.data.Dataset.range(50).shuffle(50, **arguments)
    one, two = plain(list(ds)), plain(list(ds))
    return [one == two, sorted(one) == list(range(50))]


def _failing(tf):
    inverse = lambda x: tf.debugging.check_numerics(1.0 / x, "inverse")  # noqa: E731
    return tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(inverse)


def _by_functions(tf):
    """What functions make that do what methods do."""
    made, size = tf.data.experimental, lambda x: tf.shape(x)[0]
    two = [_numbers(tf, 2), _numbers(tf, 9).skip(4)]
    datasets = [
        made.Counter(3, 2).take(2), made.choose_from_datasets(two, _numbers(tf, 2)),
        made.sample_from_datasets(two, [0.0, 1.0]).take(2), _failing(tf).apply(made.ignore_errors()),
        _numbers(tf).apply(made.take_while(lambda x: x < 2)), _numbers(tf, 2).apply(made.assert_cardinality(2)),
        _lengths(tf, (1, 2)).apply(made.bucket_by_sequence_length(size, [2, 4], [2, 2, 2])),
    ]  # fmt: skip
    return [list(dataset) for dataset in datasets], made.cardinality(_numbers(tf, 3))


CASES = {
    # elements and their description
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices(({"b": [[1, 2], [3, 4]]}, ["x", "y"])),
    "tensors": lambda tf: tf.data.Dataset.from_tensors((tf.constant([1.0, 2.0]), 3)),
    "range_type": lambda tf: tf.data.Dataset.range(2, 8, 3, output_type=tf.int32),
    "counter": lambda tf: tf.data.Dataset.counter(5, 2),
    "signature": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([(1, [2.0]), (3, [4.0, 5.0])]),
        output_signature=(tf.TensorSpec([], tf.int64), tf.TensorSpec([None], tf.float32)),
    ),
    "signature_and_types": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([1]), tf.int32, output_signature=tf.TensorSpec([], tf.int32)
    ),
    "neither": lambda tf: tf.data.Dataset.from_generator(lambda: iter([1])),
    "zip_arguments": lambda tf: tf.data.Dataset.zip(_numbers(tf, 3), _numbers(tf, 5)),
    "zip_keyword": lambda tf: tf.data.Dataset.zip(datasets=(_numbers(tf, 3), {"a": _numbers(tf, 5)})),
    "repr": lambda tf: repr(_numbers(tf).batch(2).element_spec),
    # 2.x methods
    "enumerate": lambda tf: _numbers(tf, 3).batch(2).enumerate(start=4),
    "unbatch": lambda tf: _numbers(tf, 5).batch(2).unbatch(),
    "unbatch_known": lambda tf: _numbers(tf, 6).batch(2, drop_remainder=True).unbatch(),
    "rebatch": lambda tf: _numbers(tf, 7).batch(2).rebatch(3),
    "take_while": lambda tf: _numbers(tf).take_while(lambda x: x < 4),
    "unique": lambda tf: tf.data.Dataset.from_tensor_slices([1, 3, 1, 2, 3]).unique(),
    "scan": lambda tf: _numbers(tf, 5).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s * 10 + x)),
    "reduce": lambda tf: _numbers(tf, 5).reduce((np.int64(0), 1.0), lambda s, x: (s[0] + x, s[1] * 2.0)),
    "single": lambda tf: tf.data.Dataset.from_tensors({"a": [1, 2]}).get_single_element(),
    "single_of_two": lambda tf: _numbers(tf, 2).get_single_element(),
    "apply": lambda tf: _numbers(tf, 3).apply(lambda ds: ds.map(lambda x: -x)),
    "ignore_errors": lambda tf: _failing(tf).ignore_errors(),
    "choose": lambda tf: tf.data.Dataset.choose_from_datasets(
        [_numbers(tf, 2), _numbers(tf, 9)], tf.data.Dataset.from_tensor_slices(np.array([1, 0, 0, 0, 1, 1], np.int64))
    ),
    "choose_on": lambda tf: tf.data.Dataset.choose_from_datasets(
        [_numbers(tf, 2), _numbers(tf, 9)],
        tf.data.Dataset.from_tensor_slices(np.array([1, 0, 0, 0, 1, 1], np.int64)),
        stop_on_empty_dataset=False,
    ),
    "sample_one": lambda tf: tf.data.Dataset.sample_from_datasets([_numbers(tf, 3), _numbers(tf, 9)], [0.0, 1.0]),
    "group_by_window": lambda tf: _numbers(tf).group_by_window(lambda x: x % 2, lambda k, ds: ds.batch(3), 3),
    "bucket": lambda tf: _lengths(tf).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 4], [2, 2, 2]),
    "bucket_drop": lambda tf: _lengths(tf).bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [2, 4], [2, 2, 2], drop_remainder=True
    ),
    "padded_default": lambda tf: _lengths(tf).padded_batch(4),
    "padded_value": lambda tf: _lengths(tf).map(lambda x: (x, x)).padded_batch(4, padding_values=(-1, None)),
    "interleave": lambda tf: _numbers(tf, 3).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2
    ),
    "flat_map": lambda tf: _numbers(tf, 4).flat_map(lambda x: tf.data.Dataset.range(x)),
    "map_legacy": lambda tf: tf.compat.v1.data.Dataset.range(5).map_with_legacy_function(lambda x: (x, x * x), 2),
    "map_legacy_raises": lambda tf: tf.compat.v1.data.Dataset.range(2).map_with_legacy_function(lambda: 1),
    "filter_legacy": lambda tf: tf.compat.v1.data.Dataset.range(9).filter_with_legacy_function(lambda x: x % 2 > 0),
    "filter_legacy_nothing": lambda tf: tf.compat.v1.data.Dataset.range(0).filter_with_legacy_function(lambda x: x > 0),
    "filter_legacy_raises": lambda tf: tf.compat.v1.data.Dataset.range(2).filter_with_legacy_function(lambda x: x),
    "map_and_batch_legacy": lambda tf: tf.compat.v1.data.Dataset.range(5).apply(
        tf.compat.v1.data.experimental.map_and_batch_with_legacy_function(lambda x: x * x, 2)
    ),
    "assert_cardinality": lambda tf: list(_numbers(tf, 3).apply(tf.data.experimental.assert_cardinality(4))),
    "by_functions": _by_functions,
    "from_list": lambda tf: tf.data.experimental.from_list([(1, "a"), (2, "b")]),
    "converted": lambda tf: _numbers(tf, 6).map(_halves(tf)),
    # numbers of elements
    "number_infinite": lambda tf: _numbers(tf, 3).repeat(),
    "number_filtered": lambda tf: _numbers(tf, 3).filter(lambda x: x > 0),
    "number_batches": lambda tf: _numbers(tf).batch(3),
    "number_whole_batches": lambda tf: _numbers(tf).batch(3, drop_remainder=True),
    "number_shard": lambda tf: _numbers(tf).shard(3, 1),
    "number_skip_take": lambda tf: _numbers(tf).skip(7).take(5).repeat(2),
    "number_concatenated": lambda tf: _numbers(tf, 3).concatenate(_numbers(tf, 2)),
    "number_zip": lambda tf: tf.data.Dataset.zip((_numbers(tf, 3).repeat(), _numbers(tf, 2).map(lambda x: x))),
    "len": lambda tf: [len(_numbers(tf)), bool(_numbers(tf, 0))],
    "len_infinite": lambda tf: len(_numbers(tf).repeat()),
    "len_unknown": lambda tf: len(_numbers(tf).filter(lambda x: x > 0)),
    # iterators
    "next": lambda tf: _taken(tf, _numbers(tf)),
    "again": lambda tf: [list(ds) + list(ds) for ds in [_numbers(tf, 3)]],
    "numpy": lambda tf: list(_numbers(tf, 4).batch(3).as_numpy_iterator()),
    "numpy_text": lambda tf: list(tf.data.Dataset.from_tensor_slices(["a", "b"]).as_numpy_iterator()),
    "end_next": lambda tf: _at_the_end(tf, next),
    "end_default": lambda tf: _at_the_end(tf, lambda it: next(it, 7)),
    "end_get_next": lambda tf: _at_the_end(tf, lambda it: it.get_next()),
    "end_optional": lambda tf: _at_the_end(tf, lambda it: it.get_next_as_optional().has_value()),
    "end_value": lambda tf: _at_the_end(tf, lambda it: it.get_next_as_optional().get_value()),
    "optional": lambda tf: [
        tf.experimental.Optional.from_value(3).get_value(),
        tf.experimental.Optional.from_value((1, "a")).element_spec
        == (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.string)),
        tf.experimental.Optional.empty(tf.TensorSpec([2])).has_value(),
    ],
    "shuffled": lambda tf: _passes(tf, seed=1),
    "shuffled_once": lambda tf: _passes(tf, seed=1, reshuffle_each_iteration=False),
    "shuffled_once_unseeded": lambda tf: _passes(tf, reshuffle_each_iteration=False),
    # functions
    "sum": lambda tf: _summing(tf, lambda tf, s, x: s + x)(_numbers(tf)),
    "sum_of_none": lambda tf: _summing(tf, lambda tf, s, x: s + x)(_numbers(tf, 0)),
    "sum_of_batches": lambda tf: _summing(tf, lambda tf, s, x: s * 2 + tf.reduce_sum(x))(_numbers(tf).batch(4)),
    "traces": _traces,
    "iterator_traces": _iterator_traces,
    "in_order": _in_order,
    "steps_before_the_end": _steps_before_the_end,
    "optionals": _optionals,
    "nested": _nested,
    "break": _break_leaves_the_rest,
    "made_inside": _made_inside,
}


def _halves(tf):
    def halves(x):
        if x % 2 == 0:
            return x // 2
        return -x

    return halves
