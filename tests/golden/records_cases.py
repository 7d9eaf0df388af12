"""Programs over files of records, lines and csv, for 1.12 and here. Files lie in a folder that a case is given."""

import gzip
import os
import sqlite3
import zlib

RECORDS = [b"abc", b"", b"x" * 20]
LINES = {"a.txt": b"one\r\ntwo\n\nth\rree", "b.txt": b"h\nx\n"}
FIXED = b"HHabcdefghF"
TABLE = b'name,age,score\n"ann, b",3,1.5\nbob,,2.5\n"c""d",3000000000,\n'
OTHER = b"name,age,score\ndora,7,8\n"


def written(folder, name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def recorded(tf, folder, name, options=None, records=RECORDS):
    path = os.path.join(folder, name)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return path


def options(tf, kind):
    return tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind or "NONE"))


def elements(tf, dataset):
    """The elements of a dataset, and the error that ended it."""
    return following_values(tf, dataset.make_one_shot_iterator().get_next())


def following_values(tf, following):
    """What one run after the other gives, and the error that ended it."""
    found = []
    with tf.Session() as session:
        try:
            while len(found) < 50:
                found.append(session.run(following))
        except tf.errors.OutOfRangeError:
            pass
        except tf.errors.OpError as error:
            found.append(failure(error))
    return found


def failure(error):
    """The name of an error's class in ``tf.errors`` and its message's first part."""
    kind = next(c for c in type(error).__mro__ if c.__name__ in KINDS)
    return kind.__name__ + ": " + str(error.message).split(" in ")[0].split("\n")[0]


KINDS = ("DataLossError", "NotFoundError", "InvalidArgumentError", "OpError")


def read(tf, make, files, count=0):
    """All that a reader gives, and how many records and files it counts."""
    found = []
    queue = tf.train.string_input_producer(files, num_epochs=1, shuffle=False)
    reader = make()
    entry = reader.read_up_to(queue, count) if count else reader.read(queue)
    counts = (reader.num_records_produced(), reader.num_work_units_completed())
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while True:
                found.append(list(session.run(entry)))
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
        found.append(list(session.run(counts)))
        coordinator.request_stop()
        coordinator.join(threads)
    return found


def texts(folder):
    return [written(folder, name, content) for name, content in sorted(LINES.items())]


def two_files(tf, folder):
    return [recorded(tf, folder, "a"), recorded(tf, folder, "b", records=[b"q"])]


def damaged(tf, folder, damage, kind=""):
    pack = {"": lambda x: x, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind]
    with open(recorded(tf, folder, "whole"), "rb") as file:
        content = file.read()
    path = written(folder, "damaged", damage(pack(content)))
    return elements(tf, tf.data.TFRecordDataset(path, kind))


def table(tf, folder, **arguments):
    paths = [written(folder, "a.csv", TABLE), written(folder, "b.csv", OTHER)]
    given = {"num_epochs": 1, "shuffle": False}
    given.update(arguments)
    return elements(tf, tf.data.experimental.make_csv_dataset(paths, 2, **given))


def examples(tf):
    """Messages, and the features of each."""
    messages = []
    for i in range(5):
        example = tf.train.Example()
        example.features.feature["a"].int64_list.value.append(i)
        example.features.feature["b"].float_list.value.extend([i / 2.0, 1.0])
        messages.append(example.SerializeToString())
    return messages, {"a": tf.io.FixedLenFeature([], tf.int64), "b": tf.io.FixedLenFeature([2], tf.float32)}


def features(tf, folder, **arguments):
    messages, spec = examples(tf)
    path = recorded(tf, folder, "examples", records=messages)
    given = {"num_epochs": 1, "shuffle": False}
    given.update(arguments)
    return elements(tf, tf.data.experimental.make_batched_features_dataset(path, 2, spec, **given))


def read_features(tf, folder):
    messages, spec = examples(tf)
    path = recorded(tf, folder, "examples", records=messages)
    return following_values(
        tf, tf.contrib.data.read_batch_features(path, 2, spec, tf.data.TFRecordDataset, None, False, 1)
    )


def parsed_features(tf, folder):
    messages, spec = examples(tf)
    batches = tf.data.Dataset.from_tensor_slices(messages).batch(2)
    return elements(tf, batches.apply(tf.contrib.data.parse_example_dataset(spec)))


def sparse(tf, transform):
    messages = []
    for i in range(5):
        example = tf.train.Example()
        example.features.feature["a"].int64_list.value.extend(range(i))
        example.features.feature["n"].bytes_list.value.extend([b"x"] * (3 - i % 3))
        messages.append(example.SerializeToString())
    dataset = transform(tf.data.Dataset.from_tensor_slices(messages))
    kinds = [dataset.output_types, dataset.output_shapes, dataset.output_classes]
    return [described(kind) for kind in kinds] + elements(tf, dataset)


def described(kind):
    """Types, shapes and classes of elements in words that both have."""
    if isinstance(kind, dict):
        return {key: described(part) for key, part in kind.items()}
    if isinstance(kind, tuple):
        return [described(part) for part in kind]
    return kind.__name__ if isinstance(kind, type) else str(kind)


def ragged(tf):
    return {"a": tf.VarLenFeature(tf.int64), "n": tf.VarLenFeature(tf.string)}


def numbers(tf, record):
    return tf.parse_single_example(record, ragged(tf))["a"]


def queried(tf, folder, query, types, driver="sqlite"):
    path = os.path.join(folder, "people.sqlite")
    if not os.path.exists(path):
        connection = sqlite3.connect(path)
        connection.execute("create table people (name text, age integer, height real)")
        connection.executemany(
            "insert into people values (?, ?, ?)", [("ann", 3, 1.5), ("bob", None, 2.25), (None, 7, None)]
        )
        connection.commit()
        connection.close()
    return elements(tf, tf.data.experimental.SqlDataset(driver, path, query, types))


def written_by_a_dataset(tf, folder, dataset, kind=None):
    path = os.path.join(folder, "written")
    write = tf.data.experimental.TFRecordWriter(path, kind).write(dataset)
    with tf.Session() as session:
        session.run(write)
    return list(tf.python_io.tf_record_iterator(path, options(tf, kind)))


def through_files(tf, folder):
    """A file that is written, in folders that are made, and read."""
    path = os.path.join(folder, "a", "b", "file")
    with tf.Session() as session:
        session.run(tf.write_file(path, b"some\x00bytes"))
        return [session.run(tf.read_file(path)), session.run(tf.read_file(tf.constant(path)))]


def unread(tf, folder):
    with tf.Session() as session:
        try:
            return session.run(tf.read_file(os.path.join(folder, "nowhere")))
        except tf.errors.OpError as error:
            return type(error).__name__


READERS = {
    "text": lambda tf, folder: (tf.TextLineReader, texts(folder)),
    "text_skip": lambda tf, folder: (lambda: tf.TextLineReader(skip_header_lines=1), texts(folder)),
    "whole": lambda tf, folder: (tf.WholeFileReader, texts(folder)),
    "identity": lambda tf, folder: (tf.IdentityReader, ["x", "y"]),
    "records": lambda tf, folder: (tf.TFRecordReader, two_files(tf, folder)),
    "records_up_to": lambda tf, folder: (tf.TFRecordReader, two_files(tf, folder), 2),
    "records_zlib": lambda tf, folder: (
        lambda: tf.TFRecordReader(options=options(tf, "ZLIB")), [recorded(tf, folder, "a", options(tf, "ZLIB"))],
    ),
    "fixed": lambda tf, folder: (lambda: tf.FixedLengthRecordReader(3, 2, 1), [written(folder, "f", FIXED)]),
    "fixed_all": lambda tf, folder: (lambda: tf.FixedLengthRecordReader(4, 2, 1), [written(folder, "f", FIXED)]),
    "fixed_hop": lambda tf, folder: (
        lambda: tf.FixedLengthRecordReader(3, 2, 1, hop_bytes=2), [written(folder, "f", FIXED)],
    ),
    "missing": lambda tf, folder: (tf.TextLineReader, [os.path.join(folder, "nowhere")]),
}  # fmt: skip
"""What makes a reader, the files that it reads, and how many records it reads at once."""
DATASETS = {
    "files_mapped": lambda tf, folder: tf.data.Dataset.from_tensor_slices(texts(folder)).map(
        lambda name: tf.read_file(name)
    ),
    "lines": lambda tf, folder: tf.data.TextLineDataset(texts(folder)),
    "lines_gzip": lambda tf, folder: tf.data.TextLineDataset(written(folder, "g", gzip.compress(b"a\nb\r\nc")), "GZIP"),
    "csv_dataset": lambda tf, folder: tf.data.experimental.CsvDataset(
        written(folder, "t", TABLE), [tf.string, tf.constant([0], tf.int64), [0.5]], header=True
    ),
    "csv_dataset_selected": lambda tf, folder: tf.data.experimental.CsvDataset(
        written(folder, "t", TABLE), [[0.5]], header=True, select_cols=[2]
    ),
    "csv_dataset_lines_in_quotes": lambda tf, folder: tf.data.experimental.CsvDataset(
        written(folder, "t", b'"a\nb",1\nc,2'), [tf.string, tf.int32]
    ),
}
DAMAGES = {
    "last_byte": lambda x: x[:-1], "cut": lambda x: x[:-10], "length": lambda x: b"\x07" + x[1:],
    "data": lambda x: x[:13] + b"Z" + x[14:], "checksum": lambda x: x[:-1] + b"\x00", "none": lambda x: b"",
}  # fmt: skip
SPARSE = {
    "batch": lambda tf, d: d.batch(2).map(lambda x: tf.parse_example(x, ragged(tf))),
    "single": lambda tf, d: d.map(lambda x: numbers(tf, x)),
    "single_batch": lambda tf, d: d.map(lambda x: numbers(tf, x)).batch(3),
    "to_dense": lambda tf, d: (
        d.map(lambda x: numbers(tf, x)).map(tf.sparse_tensor_to_dense).padded_batch(5, [None])
    ),
    "beside_others": lambda tf, d: d.map(lambda x: (numbers(tf, x), 1)).shuffle(1).repeat(2).filter(
        lambda s, i: tf.equal(s.dense_shape[0], 4)).batch(4),
    "padded": lambda tf, d: d.map(lambda x: numbers(tf, x)).padded_batch(5, [None]),
}  # fmt: skip
"""What is made of a dataset of messages."""
QUERIES = {
    "sql": lambda tf: ("select name, age, height from people", (tf.string, tf.int32, tf.float64)),
    "sql_other_types": lambda tf: (
        "select age, height, age, name from people", (tf.string, tf.int64, tf.bool, tf.int32),
    ),
    "sql_count": lambda tf: ("select name from people", (tf.string, tf.int32)),
    "sql_driver": lambda tf: ("select name from people", (tf.string,), "mysql"),
}  # fmt: skip
WRITTEN = {
    "written": lambda tf: (tf.data.Dataset.from_tensor_slices(["a", "bc", ""]),),
    "written_zlib": lambda tf: (tf.data.Dataset.range(3).map(tf.as_string), "ZLIB"),
    "written_numbers": lambda tf: (tf.data.Dataset.range(3),),
}
TABLES = {
    "csv": lambda tf: {}, "csv_label": lambda tf: {"label_name": "score"},
    "csv_selected": lambda tf: {"select_columns": ["age", 0]},
    "csv_named": lambda tf: {"column_names": ["x", "y", "z"]},
    "csv_defaults": lambda tf: {"column_defaults": ["none", [5], tf.float64]},
    "csv_types": lambda tf: {"column_defaults": [tf.string, tf.int64, tf.float32]},
    "csv_bad_label": lambda tf: {"label_name": "nobody"}, "csv_bad_column": lambda tf: {"select_columns": ["nobody"]},
    "csv_twice": lambda tf: {"select_columns": [0, "name"]}, "csv_no_names": lambda tf: {"header": False},
}  # fmt: skip
FEATURES = {
    "features": {}, "features_label": {"label_key": "a"}, "features_dropped": {"drop_final_batch": True},
    "features_bad_label": {"label_key": "c"},
}  # fmt: skip
CASES = {
    "files_through": through_files, "files_missing": unread,
    "files_several": lambda tf, folder: tf.read_file(["a", "b"]),
    **{"reader_" + name: lambda tf, folder, m=make: read(tf, *m(tf, folder)) for name, make in READERS.items()},
    **{name: lambda tf, folder, m=make: elements(tf, m(tf, folder)) for name, make in DATASETS.items()},
    **{"records_" + name: lambda tf, folder, d=damage: damaged(tf, folder, d) for name, damage in DAMAGES.items()},
    **{"sparse_" + n: lambda tf, folder, t=to: sparse(tf, lambda d: t(tf, d)) for n, to in SPARSE.items()},
    **{name: lambda tf, folder, q=query: queried(tf, folder, *q(tf)) for name, query in QUERIES.items()},
    **{n: lambda tf, folder, m=make: written_by_a_dataset(tf, folder, *m(tf)) for n, make in WRITTEN.items()},
    **{name: lambda tf, folder, h=how: table(tf, folder, **h(tf)) for name, how in TABLES.items()},
    **{name: lambda tf, folder, h=how: features(tf, folder, **h) for name, how in FEATURES.items()},
    "features_read": read_features, "features_parsed": parsed_features,
}  # fmt: skip
for _kind in ("GZIP", "ZLIB"):
    CASES["records_" + _kind] = lambda tf, folder, k=_kind: damaged(tf, folder, lambda x: x, k)
    CASES["records_end_" + _kind] = lambda tf, folder, k=_kind: damaged(tf, folder, lambda x: x[:-1], k)
    CASES["records_other_" + _kind] = lambda tf, folder, k=_kind: damaged(
        tf, folder, lambda x: x[:12] + b"\xff\xff" + x[14:], k
    )


def outcome(tf, case, folder):
    """What a case gives, or the class of its error."""
    try:
        return plain(case(tf, folder), folder)
    except (TypeError, ValueError) as error:
        return {"raises": type(error).__name__}


def plain(value, folder):
    """A value as JSON holds it; bytes as text of Latin-1, without the name of the folder."""
    if isinstance(value, dict):
        return {key: plain(part, folder) for key, part in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [plain(part, folder) for part in value]
    value = value.decode("latin-1") if isinstance(value, bytes) else value
    return value.replace(folder, "FOLDER") if isinstance(value, str) else value
