"""Programs over ``tf.summary`` of 2.x that are compared with 2.15: each writes to the folder that it is given."""

import glob

import numpy as np

RANDOM = np.random.RandomState(0)
NORMAL = RANDOM.randn(200).astype(np.float32)
PIXELS = RANDOM.uniform(-0.2, 1.2, (4, 3, 2, 3)).astype(np.float32)
BYTES = RANDOM.randint(0, 255, (2, 2, 3, 1)).astype(np.uint8)
SOUND = RANDOM.uniform(-1.2, 1.2, (2, 7, 2)).astype(np.float32)


def writing(program):
    """A case that runs a program with a writer as the default."""

    def case(tf, folder):
        with tf.summary.create_file_writer(folder).as_default():
            return program(tf)

    return case


def in_function(tf, folder):
    writer = tf.summary.create_file_writer(folder)

    @tf.function
    def train(x, step):
        with writer.as_default():
            for _ in tf.range(2):
                tf.summary.scalar("in", x * 2.0, step=step)
            if x > 1.5:
                tf.summary.histogram("large", [x, x], step=step)
        return x

    for step in range(3):
        train(tf.constant(float(step)), tf.constant(step, tf.int64))


def captured(tf, folder):
    step = tf.Variable(0, dtype=tf.int64)
    with tf.summary.create_file_writer(folder).as_default(step=step):

        @tf.function
        def train():
            with tf.name_scope("inner"), tf.summary.record_if(lambda: tf.equal(step % 2, 0)):
                tf.summary.scalar("s", step)
            step.assign_add(1)

        for _ in range(4):
            train()


def steps(tf):
    tf.summary.experimental.set_step(5)
    tf.summary.scalar("default", 1.0)
    tf.summary.scalar("own", 1.0, step=7)
    found = tf.summary.experimental.get_step()
    tf.summary.experimental.set_step(None)
    return [found, tf.summary.experimental.get_step()]


def conditions(tf):
    found = [bool(tf.summary.should_record_summaries()), bool(tf.summary.scalar("a", 1, 1))]
    with tf.summary.record_if(False):
        found += [bool(tf.summary.should_record_summaries()), bool(tf.summary.scalar("b", 1, 2))]
    with tf.summary.record_if(lambda: tf.constant(True)):
        found += [bool(tf.summary.should_record_summaries()), bool(tf.summary.scalar("c", 1, 3))]
    return found


def closed(tf, folder):
    writer = tf.summary.create_file_writer(folder)
    with writer.as_default():
        tf.summary.scalar("a", 1.0, step=1)
    writer.close()
    with writer.as_default():
        tf.summary.scalar("b", 1.0, step=2)


def nowhere(tf, folder):
    with tf.summary.create_noop_writer().as_default():
        inside = bool(tf.summary.scalar("a", 1.0, step=1))
    return [inside, bool(tf.summary.scalar("a", 1.0, step=1)), bool(tf.summary.should_record_summaries())]


def raw(tf):
    from_2 = tf.compat.v1.Summary(value=[tf.compat.v1.Summary.Value(tag="raw", simple_value=2.5)])
    return bool(tf.summary.experimental.write_raw_pb(from_2.SerializeToString(), step=3))


def scopes(tf):
    with tf.name_scope("outer"):
        with tf.summary.experimental.summary_scope("own name", values=[1]) as (tag, scope):
            tf.summary.write(tag, tf.constant([1, 2]), step=1)
        tf.summary.scalar("twice", 1.0, step=1)
        tf.summary.scalar("twice", 2.0, step=2)
    return [tag, scope]


def graph(tf):
    with tf.Graph().as_default() as made:
        tf.constant(1, name="c")
    return bool(tf.summary.graph(made))


CASES = {
    "scalar": writing(lambda tf: tf.summary.scalar("loss", 0.1, step=3)),
    "scalar int": writing(lambda tf: tf.summary.scalar("loss", tf.constant(3), 3, "some *words*")),
    "scalar vector": writing(lambda tf: tf.summary.scalar("loss", [1.0], step=3)),
    "no step": writing(lambda tf: tf.summary.scalar("loss", 1.0)),
    "histogram": writing(lambda tf: tf.summary.histogram("h", NORMAL, step=1)),
    "histogram of buckets": writing(lambda tf: tf.summary.histogram("h", NORMAL, step=1, buckets=4)),
    "histogram of one value": writing(lambda tf: tf.summary.histogram("h", [2, 2, 2], step=1, buckets=3)),
    "histogram of nothing": writing(lambda tf: tf.summary.histogram("h", [], step=1)),
    "image": writing(lambda tf: tf.summary.image("i", PIXELS, step=1)),
    "image bytes": writing(lambda tf: tf.summary.image("i", BYTES, step=1, max_outputs=1, description="d")),
    "image rank": writing(lambda tf: tf.summary.image("i", PIXELS[0], step=1)),
    "audio": writing(lambda tf: tf.summary.audio("a", SOUND, 8000, step=1)),
    "audio outputs": writing(lambda tf: tf.summary.audio("a", SOUND, 8000, step=1, max_outputs=1, encoding="wav")),
    "audio encoding": writing(lambda tf: tf.summary.audio("a", SOUND, 8000, step=1, encoding="mp3")),
    "text": writing(lambda tf: tf.summary.text("t", "hello", step=1)),
    "text table": writing(lambda tf: tf.summary.text("t", [["a", "b"], ["c", "d"]], step=1)),
    "write": writing(lambda tf: bool(tf.summary.write("own", tf.constant([1.5, 2.0]), step=2))),
    "write lazily": writing(lambda tf: bool(tf.summary.write("own", lambda: tf.constant(1), step=2))),
    "raw": writing(raw),
    "steps": writing(steps),
    "conditions": writing(conditions),
    "scopes": writing(scopes),
    "graph": writing(graph),
    "in a function": in_function,
    "captured": captured,
    "closed": closed,
    "nowhere": nowhere,
}


def events(tf, folder, pixels):
    """What is in the event files of a folder, as lists that JSON can keep.

    Args:
      pixels: PNG -> array.
    """
    found = []
    for path in sorted(glob.glob(folder + "/*")):
        for event in tf.compat.v1.train.summary_iterator(path):
            kind = event.WhichOneof("what")
            if kind != "summary":
                found.append([event.step, kind])
            for value in event.summary.value:
                found.append([event.step, value.tag, str(value.metadata), *content(tf, value, pixels)])
    return found


def content(tf, value, pixels):
    if value.WhichOneof("value") != "tensor":
        return [value.WhichOneof("value")]
    array = tf.make_ndarray(value.tensor)
    plain = [plain_entry(entry, pixels) for entry in array.reshape(-1).tolist()]
    return [value.tensor.dtype, list(array.shape), plain]


def plain_entry(entry, pixels):
    if not isinstance(entry, bytes):
        return entry
    if entry.startswith(b"\x89PNG"):
        return pixels(entry).tolist()
    return list(entry) if entry.startswith(b"RIFF") else entry.decode()


def outcome(tf, name, folder, pixels):
    """What a case returns and writes, or the error's class."""
    try:
        result = CASES[name](tf, folder)
    except Exception as error:
        return type(error).__name__
    finally:
        tf.summary.experimental.set_step(None)
    return [result if isinstance(result, (list, bool)) else None, events(tf, folder, pixels)]
