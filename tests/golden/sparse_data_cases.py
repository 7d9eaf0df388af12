"""Programs with sparse tensors as elements of datasets that 1.12 and ours both run: functions of (tf, session)."""

import numpy as np

X = ([[0, 1], [0, 3], [2, 0]], np.array([1.5, -2.0, 4.0], "float32"), [3, 4])


def facts(value):
    if isinstance(value, tuple):
        return [facts(part) for part in value]
    array = np.asarray(value)
    return [
        v.decode() if isinstance(v, bytes) else v for v in array.reshape(-1).tolist()
    ] + [list(array.shape)]  # fmt: skip


def described(dataset):
    kinds = dataset.output_classes
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    return [[kind.__name__ for kind in kinds], str(dataset.output_types)]


def taken(tf, session, dataset):
    following = dataset.make_initializable_iterator()
    element = following.get_next()
    session.run([tf.tables_initializer(), following.initializer])
    found = []
    while True:
        try:
            found.append(facts(session.run(element)))
        except tf.errors.OutOfRangeError:
            return [described(dataset), found]


def whole(tf, session):
    return taken(tf, session, tf.data.Dataset.from_tensors(tf.SparseTensor(*X)).repeat(2))


def slices(tf, session):
    return taken(tf, session, tf.data.Dataset.from_tensor_slices((tf.SparseTensor(*X), [1, 2, 3])))


def of_a_value(tf, session):
    value = tf.SparseTensorValue(np.array(X[0], "int64"), X[1], np.array(X[2], "int64"))
    return taken(tf, session, tf.data.Dataset.from_tensor_slices(value))


def batches(tf, session):
    return taken(tf, session, tf.data.Dataset.from_tensor_slices((tf.SparseTensor(*X), [1, 2, 3])).batch(2))


def mapped(tf, session):
    lines = tf.data.Dataset.from_tensor_slices(["a b", "", "b c b"])
    return taken(tf, session, lines.map(lambda line: tf.string_split([line])))


def mapped_batches(tf, session):
    lines = tf.data.Dataset.from_tensor_slices(["a b", "", "b c b"]).batch(2)
    return taken(tf, session, lines.map(lambda some: (tf.string_split(some), tf.size(some))))


def batches_of_different_sizes(tf, session):
    lines = tf.data.Dataset.from_tensor_slices(["a b", "", "b c b"]).map(lambda line: tf.string_split([line]))
    return taken(tf, session, lines.batch(3))


def arguments_of_maps_and_filters(tf, session):
    data = tf.data.Dataset.from_tensor_slices((tf.SparseTensor(*X), [1, 2, 3]))
    data = data.filter(lambda x, y: tf.size(x.values) > 0)
    return taken(tf, session, data.map(lambda x, y: (tf.sparse_tensor_to_dense(x), y)))


def zipped_and_prefetched(tf, session):
    data = tf.data.Dataset.from_tensor_slices(tf.SparseTensor(*X))
    return taken(tf, session, tf.data.Dataset.zip((data, tf.data.Dataset.range(3))).prefetch(2).skip(1))


def from_a_structure(tf, session):
    data = tf.data.Dataset.from_tensor_slices((tf.SparseTensor(*X), [1, 2, 3]))
    following = tf.data.Iterator.from_structure(data.output_types, data.output_shapes, None, data.output_classes)
    element = following.get_next()
    session.run(following.make_initializer(data))
    return facts(session.run(element))


def looked_up(tf, session):
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1)
    lines = tf.data.Dataset.from_tensor_slices(["a b", "c b"]).batch(2)
    return taken(tf, session, lines.map(lambda some: table.lookup(tf.string_split(some))))


def of_examples(tf, session):
    def example(number, words):
        features = {
            "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
            "w": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
        }
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    data = tf.data.Dataset.from_tensor_slices([example(0, [b"a", b"b"]), example(1, []), example(2, [b"c"])])
    features = {"y": tf.FixedLenFeature([], tf.int64), "w": tf.VarLenFeature(tf.string)}
    parsed = data.map(lambda text: tf.parse_single_example(text, features)).shuffle(1).batch(2)
    whole = data.batch(2).map(lambda texts: tf.parse_example(texts, features))
    found = []
    for some in (parsed, whole):
        element = some.make_one_shot_iterator().get_next()
        for _ in range(2):
            value = session.run(element)
            found.append([facts(value["y"]), facts(tuple(value["w"])), str(element["w"].get_shape())])
    return found


def dense_elements(tf, session):
    rows = tf.data.Dataset.from_tensor_slices([1, 3, 0]).map(lambda n: tf.fill([n], n))
    found = [
        taken(tf, session, rows.apply(tf.contrib.data.dense_to_sparse_batch(2, size))) for size in ([None], [4])
    ]  # fmt: skip
    try:
        taken(tf, session, rows.apply(tf.contrib.data.dense_to_sparse_batch(2, [2])))
    except tf.errors.OpError as error:
        found.append(type(error).__name__)
    return found


def refused_padded(tf, session):
    data = tf.data.Dataset.from_tensor_slices(tf.SparseTensor(*X))
    try:
        data.padded_batch(2, [None])
    except Exception as error:
        return type(error).__name__


def tried(tf, make):
    """The facts of what a function makes, or the type of the error."""
    try:
        return facts(make())
    except Exception as error:
        return type(error).__name__


def unbatched(tf, session):
    data = tf.data.Dataset.from_tensor_slices((tf.SparseTensor(*X), [1, 2, 3])).batch(2)
    return taken(tf, session, data.apply(tf.contrib.data.unbatch()))


def rows_as_tuples(tf, session):
    found = taken(tf, session, tf.data.Dataset.from_sparse_tensor_slices(tf.SparseTensor(*X)))
    return [found, tried(tf, lambda: tf.data.Dataset.from_sparse_tensor_slices([1]))]


def sliding_windows(tf, session):
    data, slide = tf.data.Dataset, tf.contrib.data.sliding_window_batch
    pairs = data.range(9).map(lambda x: (x, tf.fill([2], x)))
    found = [
        taken(tf, session, some)
        for some in (
            data.range(7).apply(slide(3)), data.range(7).apply(slide(3, stride=2)), data.range(3).apply(slide(4)),
            pairs.apply(slide(3, window_shift=2, window_stride=2)),
        )
    ]  # fmt: skip
    return [
        *found, tried(tf, lambda: slide(3, 1, 2)), tried(tf, lambda: taken(tf, session, data.range(7).apply(slide(0)))),
    ]  # fmt: skip


def reducers(tf, session):
    extra = tf.contrib.data
    reducer = extra.Reducer(
        lambda key: (key, np.int64(0)), lambda state, x: (state[0], state[1] + x), lambda key, total: (key, total)
    )
    data = tf.data.Dataset.range(10)
    sums = taken(tf, session, data.apply(extra.group_by_reducer(lambda x: x % 3, reducer)))
    whole = extra.reduce_dataset(data, extra.Reducer(lambda key: key, lambda total, x: total + x, lambda total: total))
    return [sums, facts(session.run(whole))]


def optionals(tf, session):
    following = tf.contrib.data.get_next_as_optional(tf.data.Dataset.range(2).make_one_shot_iterator())
    has, value = following.has_value(), following.get_value()
    found = [facts(session.run(pair)) for pair in ((has, value), (has, value))]
    return [*found, facts(session.run(has)), tried(tf, lambda: session.run(value))]


def serialized(tf, session):
    given = [
        tf.SparseTensor(*X), tf.SparseTensor(X[0], ["a", "", "cc"], X[2]),
        tf.SparseTensor(np.zeros((0, 2), "int64"), np.zeros(0, "int64"), [3, 4]),
    ]  # fmt: skip
    found = []
    for some in given:
        one, many = tf.serialize_sparse(some), tf.serialize_many_sparse(some)
        texts = session.run([one, many])
        found.append([[text.hex() for text in part.reshape(-1)] for part in texts])
        found.append(facts(tuple(session.run(tf.deserialize_many_sparse(many, some.dtype)))))
    vectors = [tf.SparseTensor([[2], [0]], [1, 2], [3]), tf.SparseTensor([[5], [4]], [3, 4], [9])]
    rows = tf.stack([tf.serialize_sparse(vector) for vector in vectors])
    found.append(facts(tuple(session.run(tf.deserialize_many_sparse(rows, tf.int32)))))
    mixed = tf.stack([tf.serialize_sparse(vectors[0]), tf.serialize_sparse(given[0])])
    unordered = tf.SparseTensor([[2, 0], [0, 1]], [1, 2], [3, 2])
    return found + [
        tried(tf, lambda: session.run(tf.deserialize_many_sparse(mixed, tf.int32))),
        tried(tf, lambda: session.run(tf.deserialize_many_sparse([["a", "b", "c"]], tf.int32))),
        tried(tf, lambda: tf.deserialize_many_sparse(["a", "b"], tf.int32)),
        tried(tf, lambda: tf.deserialize_many_sparse([["a", "b", "c", "d"]], tf.int32)),
        tried(tf, lambda: tf.serialize_sparse(3)),
        tried(tf, lambda: session.run(tf.serialize_many_sparse(vectors[0]))),
        tried(tf, lambda: session.run(tf.serialize_many_sparse(unordered))),
    ]


def accumulators(tf, session):
    found = []
    gradient, step = tf.placeholder(tf.float32), tf.placeholder(tf.int64, [])
    for kind in ("MEAN", "SUM"):
        some = tf.ConditionalAccumulator(tf.float32, [2], reduction_type=kind)
        apply, take, count = some.apply_grad(gradient, step), some.take_grad(2), some.num_accumulated()
        move = some.set_global_step(step)
        for value, at in (([1, 2], 0), ([3, 5], 0)):
            session.run(apply, {gradient: value, step: at})
        found += [
            some.name, some.dtype.name, facts(session.run(count)), facts(session.run(take)), facts(session.run(count)),
        ]  # fmt: skip
        for value, at in (([1, 2], 0), ([1, 2], 1), ([1, 2], 7)):
            session.run(apply, {gradient: value, step: at})
        found += [facts(session.run(count)), facts(session.run(take))]
        for to, at in ((9, 8), (9, 9), (3, 8)):
            session.run(move, {step: to})
            session.run(apply, {gradient: [1, 2], step: at})
            found.append(facts(session.run(count)))
        found.append(tried(tf, lambda apply=apply: session.run(apply, {gradient: [1, 2, 3], step: 10})))
        found.append(tried(tf, lambda some=some: session.run(some.take_grad(0))))
    return found + [
        tried(tf, lambda: some.apply_grad(tf.zeros([3]))),
        tried(tf, lambda: some.apply_grad(tf.zeros([2], tf.float64))),
        tried(tf, lambda: tf.ConditionalAccumulator(tf.float32, reduction_type="X")),
    ]


def sparse_accumulators(tf, session):
    found = []
    for kind in ("MEAN", "SUM"):
        for shape in ([5, 2], None, [None, 2]):
            some = tf.SparseConditionalAccumulator(tf.float32, shape, reduction_type=kind)

            def add(indices, values, shape=None, step=0, some=some):
                values = np.array(values, "float32")
                return str(session.run(some.apply_grad(np.array(indices), values, shape, step)))

            add([0, 2], [[1, 2], [3, 4]])
            add([1, 2], [[5, 6], [7, 8]])
            add([2], [[1, 1]])
            found += [facts(session.run(some.num_accumulated())), facts(tuple(session.run(some.take_grad(2))))]
            add([3], [[5, 6]])
            found.append(facts(session.run(some.num_accumulated())))
            rows = tf.IndexedSlices(tf.constant([[1.0, 2]]), tf.constant([0]), tf.constant([5, 2]))
            session.run(some.apply_indexed_slices_grad(rows, local_step=1))
            found.append(facts(tuple(session.run(some.take_indexed_slices_grad(1)))))
            wrong = [([3, 4], [[5, 6]], None)]
            if shape == [5, 2]:
                wrong += [([3], [[5, 6, 7]], None), ([3], [[5, 6]], [6, 2]), ([7], [[5, 6]], None), ([3], [5.0], None)]
            found += [tried(tf, lambda case=case: add(*case, step=4)) for case in wrong]
    return found


CASES = [
    whole, slices, of_a_value, batches, mapped, mapped_batches, batches_of_different_sizes,
    arguments_of_maps_and_filters, zipped_and_prefetched, from_a_structure, looked_up, of_examples, dense_elements,
    refused_padded, unbatched, rows_as_tuples, sliding_windows, reducers, optionals, serialized, accumulators,
    sparse_accumulators,
]  # fmt: skip
