"""Programs of 2.x with ragged and sparse tensors, in datasets and outside of them: functions of tf that run eagerly.

Each gives what can be written as JSON: values with their types, specifications, and the types of errors.
"""

import numpy as np


def facts(value):
    """A structure of tensors, as what JSON can say."""
    if isinstance(value, dict):
        return {key: facts(value[key]) for key in sorted(value)}
    if hasattr(value, "to_list"):
        return ["ragged", value.dtype.name, value.row_splits.dtype.name, listed(value.to_list())]
    if hasattr(value, "dense_shape"):
        return [
            "sparse",
            value.dtype.name,
            *(listed(np.asarray(t).tolist()) for t in (value.indices, value.values, value.dense_shape)),
        ]
    if isinstance(value, tuple | list):
        return [facts(part) for part in value]
    if hasattr(value, "dtype"):
        return [value.dtype.name, listed(np.asarray(value).tolist())]
    return str(value)


def listed(value):
    if isinstance(value, list):
        return [listed(part) for part in value]
    return value.decode() if isinstance(value, bytes) else value


def tried(make):
    """The facts of what a function makes, or the type of the error."""
    try:
        return facts(make())
    except Exception as error:  # any of the originals' errors
        return type(error).__name__


def described(spec):
    if isinstance(spec, tuple):
        return [described(part) for part in spec]
    if isinstance(spec, dict):
        return {key: described(spec[key]) for key in sorted(spec)}
    if hasattr(spec, "ragged_rank"):
        return ["ragged", spec.dtype.name, spec.ragged_rank, spec.row_splits_dtype.name, spec.shape.as_list()]
    return [type(spec).__name__, spec.dtype.name]


def elements(dataset):
    return [described(dataset.element_spec), int(dataset.cardinality()), [facts(element) for element in dataset]]


# ---- datasets ----------------------------------------------------------------------------------------------------


def matrix(tf):
    return tf.ragged.constant([[1, 2], [], [3, 4, 5]])


def cube(tf):
    return tf.ragged.constant([[[1, 2], []], [], [[3], [4, 5]]])


def entries(tf):
    return tf.sparse.from_dense([[0, 1], [2, 0], [0, 0]])


DATASETS = {
    "whole": lambda tf: tf.data.Dataset.from_tensors(cube(tf)),
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices(matrix(tf)),
    "slices_of_a_cube": lambda tf: tf.data.Dataset.from_tensor_slices((cube(tf), [1, 2, 3])).batch(2),
    "full_batches": lambda tf: tf.data.Dataset.from_tensor_slices(cube(tf)).batch(2, drop_remainder=True),
    "narrow_splits": lambda tf: tf.data.Dataset.from_tensor_slices(
        tf.ragged.constant([["a"], ["b", "c"], []], row_splits_dtype=tf.int32)
    ).batch(2),
    "batches_and_back": lambda tf: tf.data.Dataset.from_tensor_slices(matrix(tf)).batch(2).unbatch(),
    "rows_of_elements": lambda tf: tf.data.Dataset.from_tensor_slices(cube(tf)).unbatch(),
    "uniform_inside": lambda tf: tf.data.Dataset.from_tensor_slices(
        tf.ragged.constant([[[1, 2]], [], [[3, 4], [5, 6]]], ragged_rank=1)
    ).batch(2),
    "ragged_batches": lambda tf: tf.data.Dataset.range(4).map(lambda i: tf.range(i)).ragged_batch(3),
    "ragged_batches_of_known_shapes": lambda tf: (
        tf.data.Dataset.range(3).map(lambda i: tf.zeros([2, 2])).ragged_batch(2)
    ),
    "maps_that_make_ragged": lambda tf: tf.data.Dataset.range(4).map(lambda i: tf.ragged.range(tf.range(i))).batch(2),
    "filtered": lambda tf: (
        tf.data.Dataset.from_tensor_slices(matrix(tf))
        .filter(lambda x: tf.size(x) > 0)
        .batch(2)
        .map(lambda rows: rows + 1)
    ),
    "kept": lambda tf: (
        tf.data.Dataset.from_tensor_slices(matrix(tf))
        .shuffle(3, seed=1)
        .cache()
        .repeat(2)
        .batch(6)
        .map(lambda rows: tf.reduce_sum(rows))
    ),
    "groups": lambda tf: tf.data.Dataset.from_tensor_slices(matrix(tf)).group_by_window(
        lambda row: tf.size(row, tf.int64) % 2, lambda key, rows: rows.batch(2), 1
    ),
    "scans": lambda tf: (
        tf.data.Dataset.from_tensor_slices(matrix(tf))
        .scan(0, lambda total, row: (total + tf.size(row), row))
        .ragged_batch(2)
    ),
}
"""Datasets whose elements are looked at."""


def ragged_batches_of_structures(tf):
    data = tf.data.Dataset.range(4).map(lambda i: {"a": tf.range(i), "b": i})
    return elements(data.apply(tf.data.experimental.dense_to_ragged_batch(2, row_splits_dtype=tf.int32)))


def maps_of_ragged(tf):
    data = tf.data.Dataset.from_tensor_slices(cube(tf))
    return [elements(data.map(lambda x: x.row_lengths())), elements(data.batch(2).map(lambda x: x.flat_values))]


def together(tf):
    data = tf.data.Dataset.from_tensor_slices(matrix(tf))
    return elements(tf.data.Dataset.zip((data.concatenate(data).skip(2), tf.data.Dataset.range(9))).batch(3))


def windows(tf):
    data = tf.data.Dataset
    return [
        elements(data.from_tensor_slices(matrix(tf)).window(2).flat_map(lambda window: window.batch(2))),
        elements(data.from_tensor_slices(entries(tf)).window(2).flat_map(lambda window: window.batch(2)))[2],
    ]


def flat(tf):
    rows = matrix(tf)
    return elements(tf.data.Dataset.range(2).flat_map(lambda i: tf.data.Dataset.from_tensor_slices(rows)).batch(9))


def reduced(tf):
    return facts(tf.data.Dataset.from_tensor_slices(matrix(tf)).reduce(0, lambda total, row: total + tf.size(row)))


def single(tf):
    return facts(tf.data.Dataset.from_tensors(matrix(tf)).get_single_element())


def generated(tf):
    rows = matrix(tf)
    spec = tf.RaggedTensorSpec([None, None], tf.int32)
    return elements(tf.data.Dataset.from_generator(lambda: iter([rows, rows + 1]), output_signature=spec))


def numpy_elements(tf):
    data = tf.data.Dataset.from_tensor_slices(matrix(tf)).batch(2)
    return [[row.tolist() for row in rows] for rows in data.as_numpy_iterator()]


def loops(tf):
    @tf.function
    def total(data):
        found = tf.constant(0)
        for rows in data:
            found += tf.reduce_sum(rows.values)
        return found

    @tf.function
    def following(iterator):
        return next(iterator)

    data = tf.data.Dataset.from_tensor_slices(matrix(tf)).batch(2)
    optional = iter(data).get_next_as_optional()
    return [
        facts(total(data)), facts(following(iter(data))), described(optional.element_spec), facts(optional.get_value()),
    ]  # fmt: skip


def sparse_batches(tf):
    return elements(tf.data.Dataset.range(4).map(lambda i: tf.range(i)).sparse_batch(2, [4]))[2]


def sparse_rows(tf):
    return elements(tf.data.Dataset.from_tensor_slices(entries(tf)).batch(2).unbatch())[1:]


def refused(tf):
    data = tf.data.Dataset.from_tensor_slices(matrix(tf))
    return [tried(lambda: data.padded_batch(2)), tried(lambda: list(data.map(lambda row: row).batch(2)))]


def reducers(tf):
    sums = tf.data.experimental.Reducer(
        lambda key: (key, np.int64(0)),
        lambda state, x: (state[0], state[1] + x),
        lambda key, total: {"key": key, "sum": total},
    )
    data = tf.data.Dataset.range(10)
    grow = tf.data.experimental.Reducer(
        lambda key: tf.zeros([0], tf.int64), lambda state, x: tf.concat([state, [x]], 0), lambda state: state
    )
    of = tf.data.experimental.group_by_reducer
    return [
        elements(data.apply(of(lambda x: x % 3, sums))),
        elements(data.apply(of(lambda x: x % 2, grow))),
        tried(lambda: data.apply(of(lambda x: tf.cast(x, tf.int32), sums))),
    ]


def lookup_tables(tf):
    data, extra = tf.data.Dataset, tf.data.experimental
    words = data.from_tensor_slices(["a", "b", "c"])
    pairs = data.zip((data.range(3), data.range(3).map(lambda x: tf.strings.as_string(x * 2))))
    asked = tf.constant(["c", "x", "b"])
    return [
        facts(extra.index_table_from_dataset(words).lookup(asked)),
        facts(extra.index_table_from_dataset(words, num_oov_buckets=2, vocab_size=2).lookup(asked)),
        facts(
            extra.table_from_dataset(pairs, default_value="n/a", key_dtype=tf.int64).lookup(
                tf.constant([0, 5], tf.int64)
            )
        ),
        facts(tf.lookup.StaticHashTable(extra.DatasetInitializer(pairs), "x").lookup(tf.constant([2, 9], tf.int64))),
        tried(lambda: extra.table_from_dataset(pairs)),
        tried(lambda: extra.index_table_from_dataset(words, num_oov_buckets=-1)),
        tried(lambda: extra.index_table_from_dataset(words, vocab_size=0)),
    ]


def places(tf):
    data, extra = tf.data.Dataset, tf.data.experimental
    table = data.from_tensor_slices({"a": [[1, 2], [3, 4]], "b": [1.0, 2.0]})
    return [
        facts(extra.at(data.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])), 1)),
        tried(lambda: extra.at(data.range(3), 3)),
        tried(lambda: extra.at(data.range(3), -1)),
        [facts(element) for element in table.apply(extra.pad_to_cardinality(3))],
        tried(lambda: table.apply(extra.pad_to_cardinality(1))),
        tried(lambda: data.range(2).apply(extra.pad_to_cardinality(3))),
        [facts(x) for x in extra.from_variant(extra.to_variant(data.range(3)), tf.TensorSpec([], tf.int64))],
    ]


# ---- examples ----------------------------------------------------------------------------------------------------


def example(tf, **features):
    made = {k: tf.train.Feature(int64_list=tf.train.Int64List(value=v)) for k, v in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def examples(tf):
    return [
        example(
            tf, v=[3, 1, 4, 1, 5, 9], splits=[0, 2, 3, 3, 6], outer=[0, 2, 3, 4], lengths=[2, 0, 4], starts=[0, 1, 6],
            limits=[1, 6], ids=[0, 0, 2, 2, 2, 5],
        ),
        example(
            tf, v=[2, 7, 1, 8, 2, 8, 1, 9], splits=[0, 3, 4, 5, 8], outer=[0, 1, 1, 4], lengths=[8], starts=[0, 0],
            limits=[8], ids=[0, 0, 0, 0, 0, 1, 1, 1],
        ),
        example(tf),
    ]  # fmt: skip


def ragged_features(tf):
    kind = tf.io.RaggedFeature
    forms = {
        "splits": [kind.RowSplits("splits")], "twice": [kind.RowSplits("outer"), kind.RowSplits("splits")],
        "starts": [kind.RowStarts("starts")], "limits": [kind.RowLimits("limits")],
        "lengths": [kind.RowLengths("lengths")], "ids": [kind.ValueRowIds("ids")],
        "uniform": [kind.UniformRowLength(2)], "uniform twice": [kind.UniformRowLength(1), kind.UniformRowLength(2)],
        "uniform rows": [kind.UniformRowLength(2), kind.RowSplits("splits")],
    }  # fmt: skip
    made = {key: kind(tf.int64, "v", form) for key, form in forms.items()}
    return made | {"v": kind(tf.int64), "x": tf.io.VarLenFeature(tf.int64)}


def parsed_batch(tf):
    return facts(tf.io.parse_example(examples(tf)[:2], ragged_features(tf)))


def parsed_empty(tf):
    wanted = {k: v for k, v in ragged_features(tf).items() if k not in ("splits", "twice", "starts", "limits")}
    return [facts(tf.io.parse_example(some, wanted)) for some in (examples(tf), examples(tf)[2:])]


def parsed_single(tf):
    one, wanted = examples(tf)[0], ragged_features(tf)
    return [facts(tf.io.parse_single_example(one, wanted)), facts(tf.io.parse_single_example(one, wanted, "name"))]


def parsed_in_a_dataset(tf):
    wanted = {key: ragged_features(tf)[key] for key in ("v", "splits", "twice")}
    data = tf.data.Dataset.from_tensor_slices(examples(tf)[:2])
    return [
        elements(data.map(lambda one: tf.io.parse_single_example(one, wanted))),
        elements(data.batch(2).map(lambda some: tf.io.parse_example(some, wanted)).unbatch()),
    ]


def wrong_ragged_features(tf):
    kind = tf.io.RaggedFeature
    bad = [
        lambda: kind(tf.int32), lambda: kind(tf.int64, ""), lambda: kind(tf.int64, partitions=["a"]),
        lambda: kind(tf.int64, partitions="a"), lambda: kind(tf.int64, row_splits_dtype=tf.uint8),
        lambda: kind(tf.int64, validate=1),
    ]  # fmt: skip
    strict = {"f": kind(tf.int64, "v", [kind.RowLengths("outer")], validate=True)}
    return [*map(tried, bad), tried(lambda: tf.io.parse_single_example(examples(tf)[0], strict))]


# ---- counts, crosses, partitions -----------------------------------------------------------------------------------


def counts(tf, function):
    given = {
        "ragged": (tf.ragged.constant([[1, 1], [2, 3, 2, 4, 4, 5]]), tf.ragged.constant([[1, 5], [0, 1, 0, 5, 4, 5]])),
        "sparse": (tf.sparse.from_dense([[0, 1, 1], [3, 0, 0], [0, 0, 0]]), None),
        "dense": (tf.constant([[1, 2, 1], [0, 5, 5]]), tf.constant([[1, 2, 3], [4, 5, 6.0]])),
        "vector": (tf.constant([1, 1, 3], tf.int64), tf.constant([1, 2, 3.0])),
    }
    given["sparse"] = (given["sparse"][0], given["sparse"][0].with_values(tf.constant([0.5, 1, 2])))
    found = []
    for values, weights in given.values():
        for arguments in (
            {}, {"axis": -1}, {"axis": 0}, {"minlength": 9}, {"maxlength": 3},
            {"minlength": 3, "maxlength": 4, "axis": -1}, {"axis": -1, "binary_output": True}, {"weights": weights},
            {"weights": weights, "axis": -1, "maxlength": 2},
            {"weights": weights, "binary_output": True}, {"axis": 1}, {"minlength": 4, "maxlength": 9},
        ):  # fmt: skip
            found.append(tried(lambda values=values, arguments=arguments: function(values, **arguments)))
    wrong = [
        (given["ragged"][0], given["dense"][1]), (given["sparse"][0], given["dense"][1]), (tf.constant([1, -1]), None),
    ]  # fmt: skip
    none = [tf.zeros([0], tf.int32), tf.zeros([2, 0], tf.int32), tf.ragged.constant([[], []], dtype=tf.int32)]
    found += [tried(lambda values=values, weights=weights: function(values, weights)) for values, weights in wrong]
    return found + [tried(lambda values=values: function(values, axis=-1)) for values in none]


def dense_counts(tf):
    return counts(tf, tf.math.bincount)


def sparse_counts(tf):
    return counts(tf, tf.sparse.bincount)


def crosses(tf):
    a, b = tf.ragged.constant([["a"], ["b", "c"], []]), tf.ragged.constant([["d"], ["e"], ["x"]])
    numbers, dense = tf.ragged.constant([[1], [2, 3], [4]]), tf.constant([["f"], ["g"], ["h"]])
    entries = tf.sparse.from_dense([["", "p"], ["q", "r"], ["", ""]])
    cases = [[a, b], [a, numbers], [a, dense, numbers], [entries, a], [dense, dense], (a, dense), a, [a, a[:2]]]
    cases += [[tf.constant([[1.0]])], [tf.ragged.constant([[[1]]])]]
    return [
        [
            tried(lambda case=case: tf.ragged.cross(case)),
            tried(lambda case=case: tf.ragged.cross_hashed(case)),
            tried(lambda case=case: tf.ragged.cross_hashed(case, num_buckets=100, hash_key=7)),
        ]
        for case in cases
    ]


def partitions(tf):
    rows = tf.ragged.constant([[1], [2, 3], []])
    cases = [
        (["a", "b", "c", "d", "e"], [3, 0, 2, 2, 3], 5), (rows, [1, 0, 1], 3), ([[1, 2], [3, 4]], [[0, 1], [1, 0]], 2),
        ([[1, 2], [3, 4]], [0, 1], tf.constant(3, tf.int64)), ([1, 2], 1, 3), ([1, 2], [0, 5], 3), ([1, 2], [0, -1], 3),
        (rows, tf.ragged.constant([[1], [0, 1], []], dtype=tf.int64), 3), ([1, 2], [0, 1, 2], 3),
        (np.arange(8).reshape(2, 2, 2), [[0, 1], [1, 0]], 2),
    ]  # fmt: skip
    return [tried(lambda case=case: tf.ragged.stack_dynamic_partitions(*case)) for case in cases]


def filled_rows(tf):
    cases = [([0, 0, 3], [5, 6, 7], 5, 9), ([3, 0, 0], [5.0, 6, 7], 5, 9.0)]
    found = [facts(tuple(tf.ragged_fill_empty_rows(*case))) for case in cases]
    gradients = tf.ragged_fill_empty_rows_grad(tf.constant([0, 1, 4], tf.int64), [1.0, 2, 3, 4, 5, 6])
    return [*found, facts(tuple(gradients))]


def raw_bytes(tf):
    decode = tf.io.decode_raw
    return [
        facts(decode(tf.constant([["1"], ["23"]]), tf.uint8, fixed_length=4)),
        facts(decode("\1\2\3\4", tf.uint16, fixed_length=2, little_endian=False)),
        facts(decode(["12345678", "87654321"], tf.int16)),
        tried(lambda: decode("\1\2\3\4", tf.uint16, fixed_length=3)),
    ]


CASES = {name: lambda tf, d=dataset: elements(d(tf)) for name, dataset in DATASETS.items()}
PROGRAMS = [
    ragged_batches_of_structures, maps_of_ragged, together, windows, flat, reduced, single, generated,
    numpy_elements, loops, sparse_batches, sparse_rows, refused, reducers, lookup_tables, places, parsed_batch,
    parsed_empty, parsed_single, parsed_in_a_dataset, wrong_ragged_features, dense_counts, sparse_counts, crosses,
    partitions, filled_rows, raw_bytes,
]  # fmt: skip
CASES.update((case.__name__, case) for case in PROGRAMS)
