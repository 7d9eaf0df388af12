"""Folders and files that vanish between two steps."""

import shutil
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
from tests.faults.outcome import Outcome
from tests.faults.training import Lines, Training, restored


def checkpoint_folder(folder):
    """the folder of checkpoints and events is removed between two steps"""
    place = Path(folder) / "deep" / "run"
    with Training(place) as training, Lines() as said:
        with training.monitored(save_checkpoint_steps=4) as session:
            for step in range(10):
                if step == 5:
                    shutil.rmtree(place.parent)
                session.run(training.more)
        assert restored(place) == 10
    (events,) = place.glob("events*")
    found = [event.step for event in tf.train.summary_iterator(str(events)) if event.summary.value]
    assert found[0] > 5
    assert found[-1] >= 9
    assert said.text.count("is gone, and what was in it: events go to a new file from now on.") == 1
    return Outcome(
        "the next save makes the folder anew, and the next event a file, which a warning says; what was in it is "
        "lost. 1.12 makes the folder where its parent is there, else it ends with `ValueError`; its events are "
        "gone"
    )  # fmt: skip


def events_file(folder):
    """an event file is removed between two events"""
    with Lines() as said:
        writer = tf.summary.FileWriter(folder)
        for step in range(4):
            if step == 2:
                (gone,) = Path(folder).iterdir()
                gone.unlink()
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=1.0)]), step)
        writer.close()
    assert f"{gone} is gone" in said.text
    (path,) = Path(folder).iterdir()
    assert [event.step for event in tf.train.summary_iterator(str(path)) if event.summary.value] == [2, 3]
    return Outcome("a warning with its name; later events go to a new file")


def model_dir(folder):
    """the `model_dir` of an estimator is removed between two calls of `train`"""
    place = Path(folder) / "model"

    def model_fn(features, mode):
        w = tf.get_variable("w", initializer=0.0)
        change = tf.assign_add(w, 1.0)
        train = tf.group(change, tf.assign_add(tf.train.get_or_create_global_step(), 1))
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(features), train_op=train)

    def rows():
        return tf.data.Dataset.from_tensors([1.0]).repeat()

    made = tf.estimator.Estimator(model_fn, str(place))
    made.train(rows, steps=2)
    assert made.get_variable_value("w") == 2.0
    shutil.rmtree(place)
    with pytest.raises(ValueError, match="model"):
        made.get_variable_value("w")
    made.train(rows, steps=3)
    assert made.get_variable_value("w") == 3.0
    assert tf.train.latest_checkpoint(str(place)) == f"{place}/model.ckpt-3"
    return Outcome("reading values raises `ValueError`; the next `train` begins anew in a new folder, as in 1.12")


def data_file(folder):
    """a file of records is removed while it is read, and before it is read again"""
    path = f"{folder}/records"
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(1000):
            writer.write(b"%06d" % i * 100)
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.Variable(0)
        records = tf.data.TFRecordDataset(path).repeat(2).make_one_shot_iterator().get_next()
        with tf.control_dependencies([tf.strings.length(records)]):
            more = tf.assign_add(step, 1)
        session.run(step.initializer)
        for _ in range(3):
            session.run(more)
        Path(path).unlink()
        with pytest.raises(tf.errors.NotFoundError, match=f"{path}; No such file or directory"):
            while True:
                session.run(more)
        assert session.run(step) == 1000
    return Outcome(
        "the pass that has begun ends; the next one raises `NotFoundError` with the file, and finished steps stay"
    )


def data_folder(folder):
    """a file of records is gone before its dataset is read at all"""
    path = f"{folder}/none/records"
    with tf.Graph().as_default(), tf.Session() as session:
        record = tf.data.TFRecordDataset(path).make_one_shot_iterator().get_next()
        with pytest.raises(tf.errors.NotFoundError, match=path):
            session.run(record)
    return Outcome("`NotFoundError` with the file")
