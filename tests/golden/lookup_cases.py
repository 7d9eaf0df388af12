"""Programs with lookup tables of 1.x: functions of (tf, session, a folder). Compared with the original."""

import os


def write(folder, text):
    path = os.path.join(folder, "words")
    with open(path, "w") as file:
        file.write(text)
    return path


def entries(session, table):
    keys, values = session.run(table.export())
    return sorted(zip(keys.tolist(), values.tolist()))  # noqa: B905


def ready(session, table):
    session.run(table.init)
    return table


def index(tf, session, *args, **kwargs):
    return ready(session, tf.contrib.lookup.index_table_from_tensor(*args, **kwargs))


def of_file(tf, session, folder, text, **kwargs):
    return ready(session, tf.contrib.lookup.index_table_from_file(write(folder, text), **kwargs))


def of_columns(tf, session, folder, text, *args, **kwargs):
    initializer = tf.contrib.lookup.TextFileInitializer(write(folder, text), *args, **kwargs)
    return ready(session, tf.contrib.lookup.HashTable(initializer, -1))


def of_pairs(tf, keys, values, default=-1):
    initializer = tf.contrib.lookup.KeyValueTensorInitializer(keys, values)
    return tf.contrib.lookup.HashTable(initializer, default)


def words(tf, session, folder):
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
    session.run(tf.tables_initializer())
    found = session.run([table.lookup(tf.constant([["a", "z"]])), table.size()])
    return found, entries(session, table), table.name, table.init.name, table.init.type, table.lookup(
        tf.constant("a")).op.name  # fmt: skip


def initialized_twice(tf, session, folder):
    index(tf, session, ["a"]).init.run(session=session)


def file_twice(tf, session, folder):
    table = of_file(tf, session, folder, "a\nb\n")
    return ready(session, table) and session.run(table.size())


def two_of_one_file(tf, session, folder):
    of_file(tf, session, folder, "a\nb\n")
    return session.run(tf.contrib.lookup.index_table_from_file(os.path.join(folder, "words")).size())


def buckets(tf, session, folder):
    table = index(tf, session, ["a", "b"], num_oov_buckets=3)
    return session.run([table.lookup(tf.constant(["a", "zz", "q", "hello"])), table.size()]), table.name


def strong_buckets(tf, session, folder):
    spec = tf.contrib.lookup.StrongHashSpec([3, 4])
    table = index(tf, session, ["a", "b"], num_oov_buckets=30, hasher_spec=spec)
    return session.run(table.lookup(tf.constant(["a", "zz", "q", "hello"])))


def integers(tf, session, folder):
    table = index(tf, session, [10, 20], num_oov_buckets=3, dtype=tf.int32)
    return session.run(table.lookup(tf.constant([10, 20, 30, 40])))


def buckets_alone(tf, session, folder):
    table = ready(session, tf.contrib.lookup.IdTableWithHashBuckets(None, 5))
    return session.run([table.lookup(tf.constant(["a", "b"])), table.size()]), table.name


def ids_to_words(tf, session, folder):
    table = ready(session, tf.contrib.lookup.index_to_string_table_from_tensor(["a", "b"]))
    return session.run(table.lookup(tf.constant([0, 1, 2, -1], tf.int64)))


def lines_to_words(tf, session, folder):
    path = write(folder, "a\tx\nb\ty\n")
    table = tf.contrib.lookup.index_to_string_table_from_file(path, value_column_index=1)
    return entries(session, ready(session, table)), [t.name for t in tf.get_collection("asset_filepaths")]


def mutable(tf, session, folder):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    session.run(table.insert(["a", "b"], tf.constant([1, 2], tf.int64)))
    before = session.run([table.lookup(["a", "q"]), table.size()])
    session.run(table.insert(["a"], tf.constant([9], tf.int64)))
    return before, entries(session, table), session.run(table.lookup(tf.constant([["a"], ["b"]])))


def mutable_rows(tf, session, folder):
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 0.5])
    session.run(table.insert(tf.constant([1], tf.int64), [[1.0, 2.0]]))
    return session.run(table.lookup(tf.constant([1, 2], tf.int64)))


def insert_then_find(tf, session, folder):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    with tf.control_dependencies([table.insert(["a"], tf.constant([1], tf.int64))]):
        return session.run(table.lookup(["a"]))


def mutable_of(tf, session, keys, values, default):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, default)
    session.run(table.insert(keys, tf.constant(values, tf.int64)))


def dense(tf, session, folder, key=1):
    table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=0)
    session.run(table.insert(tf.constant([key, 2], tf.int64), tf.constant([5, 6], tf.int64)))
    return session.run([table.lookup(tf.constant([1, 3], tf.int64)), table.size()])


def dense_vectors(tf, session, folder):
    table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=[0, 0])
    session.run(table.insert(tf.constant([[1, 2]], tf.int64), tf.constant([5], tf.int64)))
    return session.run(table.lookup(tf.constant([[1, 2], [3, 4]], tf.int64)))


def dataset(tf, session, folder, initialize=True):
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
    iterator = tf.data.Dataset.from_tensor_slices(["a", "b", "c"]).map(table.lookup).make_initializable_iterator()
    session.run(([table.init] if initialize else []) + [iterator.initializer])
    element = iterator.get_next()
    return [session.run(element) for _ in range(3)]


def sparse(tf, session, folder):
    return session.run(index(tf, session, ["a", "b"]).lookup(tf.string_split(["a b", "c"])))


def other_session(tf, session, folder):
    table = index(tf, session, ["a", "b"])
    with tf.Session() as other:
        return other.run(table.lookup(tf.constant(["a"])))


def first_names(tf, session, folder):
    """What the tables of words were called first."""
    lookup = tf.contrib.lookup
    tables = [
        lookup.string_to_index_table_from_tensor(["a", "b"], 2),
        lookup.string_to_index_table_from_file(write(folder, "x\ny\nz\n"), 0, 2, 7),
    ]
    session.run(tf.tables_initializer())
    assert all(isinstance(table, lookup.LookupInterface) for table in tables)
    assert isinstance(tables[1], lookup.InitializableLookupTableBase)
    found = [table.lookup(tf.constant(["a", "y", "z"])) for table in tables]
    return session.run([*found, *(table.size() for table in tables)]), [table.name for table in tables]


COLUMNS = "a 1.5 3\r\nb 2 4"
CASES = {
    "words": words,
    "uninitialized": lambda tf, s, d: s.run(
        tf.contrib.lookup.index_table_from_tensor(["a"]).lookup(tf.constant(["a"])),
    ),
    "initialized twice": initialized_twice, "a file twice": file_twice, "two of one file": two_of_one_file,
    "two values of a key": lambda tf, s, d: index(tf, s, ["a", "a"]),
    "one value twice": lambda tf, s, d: entries(s, ready(s, of_pairs(tf, ["a", "a"], [1, 1]))),
    "sizes differ": lambda tf, s, d: ready(s, of_pairs(tf, ["a", "b"], [1])),
    "no words": lambda tf, s, d: index(tf, s, tf.constant([], tf.string)), "buckets": buckets,
    "strong buckets": strong_buckets, "buckets alone": buckets_alone, "integers": integers,
    "keys of another type": lambda tf, s, d: index(tf, s, ["a"]).lookup(tf.constant([1])), "ids to words": ids_to_words,
    "truths": lambda tf, s, d: entries(s, ready(s, of_pairs(tf, ["a"], [True], False))),
    "floats as keys": lambda tf, s, d: ready(s, of_pairs(tf, [1.5], ["a"], "b")),
    "lines": lambda tf, s, d: entries(s, of_file(tf, s, d, "a\tx\nb\ty\nc\tz\n")),
    "lines of a column": lambda tf, s, d: entries(
        s, of_file(tf, s, d, "a\tx\nb\ty\nc\tz\n", vocab_size=2, key_column_index=0),
    ),
    "lines to words": lines_to_words, "too few lines": lambda tf, s, d: of_file(tf, s, d, "a\nb\n", vocab_size=5),
    "no file": lambda tf, s, d: ready(s, tf.contrib.lookup.index_table_from_file(os.path.join(d, "none"))),
    "no such column": lambda tf, s, d: of_file(tf, s, d, "a\tx\n", key_column_index=3),
    "no number": lambda tf, s, d: of_columns(tf, s, d, "a\tx\n", tf.string, 0, tf.int64, 1),
    "floats": lambda tf, s, d: entries(s, of_columns(tf, s, d, COLUMNS, tf.string, 0, tf.float32, 1, delimiter=" ")),
    "column": lambda tf, s, d: entries(s, of_columns(tf, s, d, COLUMNS, tf.string, 0, tf.int64, 2, delimiter=" ")),
    "empty file": lambda tf, s, d: of_file(tf, s, d, ""), "empty line": lambda tf, s, d: of_file(tf, s, d, "a\n\nb\n"),
    "word twice": lambda tf, s, d: of_file(tf, s, d, "a\nb\na\n"), "mutable": mutable, "mutable rows": mutable_rows,
    "insert, then find": insert_then_find,
    "values of another shape": lambda tf, s, d: mutable_of(tf, s, ["a", "b"], [1], -1), "dense": dense,
    "dense, empty key": lambda tf, s, d: dense(tf, s, d, 0), "dense, vectors": dense_vectors, "dataset": dataset,
    "dataset, uninitialized": lambda tf, s, d: dataset(tf, s, d, False), "sparse": sparse,
    "other session": other_session, "first names": first_names,
    "first names, integers": lambda tf, s, d: tf.contrib.lookup.string_to_index_table_from_tensor([1, 2]),
    "first names, no file": lambda tf, s, d: tf.contrib.lookup.string_to_index_table_from_file(""),
}  # fmt: skip
