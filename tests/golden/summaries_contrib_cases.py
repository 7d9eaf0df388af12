"""Programs over ``tf.contrib.summary`` that are compared with 1.12: each writes to the folder that it is given."""

import glob

import numpy as np

PIXELS = np.arange(24, dtype=np.float32).reshape(2, 2, 2, 3)


def in_graph(tf, folder):
    s = tf.contrib.summary
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [3])
        with s.create_file_writer(folder).as_default():
            with tf.name_scope("scope"), s.always_record_summaries():
                s.scalar("loss", tf.reduce_sum(x))
                s.scalar("loss", tf.reduce_sum(x), family="group")
                s.histogram("h", x)
                s.image("i", PIXELS + tf.reduce_sum(x))
                s.image("one", PIXELS, max_images=1)
                s.audio("a", tf.zeros([2, 5]), 8000.0, 1)
                s.generic("g", x * 2.0)
                s.generic("text", tf.constant(["some", "words"]))
                s.scalar("own", 1, step=100)
            s.scalar("by default", 1.0)
            with s.never_record_summaries():
                s.scalar("never", 1.0)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                s.initialize(graph=tf.get_default_graph())
                session.run(s.import_event(tf.constant(tf.Event(step=77).SerializeToString())))
                for i in range(2):
                    session.run(s.all_summary_ops(), {x: [1.0, 2.0, 3.0 + i]})
                    session.run(tf.assign_add(step, 1))
                session.run(s.flush())
                return [len(s.all_summary_ops()), len(s.summary_writer_initializer_op())]


def every_n(tf, folder):
    s = tf.contrib.summary
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        writer = s.create_file_writer(folder, name="own", filename_suffix=".suffix")
        with writer.as_default(), s.record_summaries_every_n_global_steps(3):
            s.scalar("square", step * step)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), writer.init()])
            found = []
            for _ in range(7):
                found.append(bool(session.run(s.all_summary_ops())[0]))
                session.run(tf.assign_add(step, 1))
            session.run(writer.close())
    return found


def eagerly(tf, folder):
    s = tf.contrib.summary
    step = tf.train.get_or_create_global_step()
    step.assign(0)
    found = []
    writer = s.create_file_writer(folder)
    with writer.as_default(), s.record_summaries_every_n_global_steps(2):
        found.append(bool(s.scalar("first", 1.0)))
    with writer.as_default(), s.always_record_summaries():
        for _ in range(2):
            with tf.name_scope("scope"):
                found.append(bool(s.scalar("loss", 2.0)))
            s.histogram("h", [1.0, 2.0], family="f")
            step.assign_add(1)
        s.graph(tf.GraphDef(node=[tf.NodeDef(name="c", op="NoOp")]), step=3)
        s.import_event(tf.Event(step=77).SerializeToString())
        found.append(s.all_summary_ops())
    with s.create_file_writer(None).as_default(), s.always_record_summaries():
        s.scalar("nowhere", 1.0)
    return found


CASES = {"graph": in_graph, "every n": every_n, "eager": eagerly}


def events(tf, folder):
    """What is in the event files of a folder; of what is written in one run the order is chance."""
    found = []
    for path in sorted(glob.glob(folder + "/*")):
        for event in tf.train.summary_iterator(path):
            if not event.summary.value:
                found.append([event.step, str(event.WhichOneof("what")), "", ""])
            for value in event.summary.value:
                kind = value.WhichOneof("value")
                shown = {
                    "simple_value": lambda v: v.simple_value,
                    "histo": lambda v: [v.histo.num, v.histo.sum, len(v.histo.bucket)],
                    "image": lambda v: [v.image.height, v.image.width, v.image.colorspace],
                    "audio": lambda v: [v.audio.length_frames, v.audio.sample_rate],
                    "tensor": lambda v: str(tf.make_ndarray(v.tensor).tolist()) if v.tensor.dtype == 1 else "strings",
                }[kind](value)
                found.append([event.step, value.tag, kind, shown])
    return sorted(found, key=str)


def suffixes(folder):
    return [path.split(".", 4)[-1].partition(".")[2] for path in glob.glob(folder + "/*")]
