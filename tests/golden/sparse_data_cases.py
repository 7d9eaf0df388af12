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


CASES = [
    whole, slices, of_a_value, batches, mapped, mapped_batches, batches_of_different_sizes,
    arguments_of_maps_and_filters, zipped_and_prefetched, from_a_structure, looked_up, of_examples, dense_elements,
    refused_padded,
]  # fmt: skip
