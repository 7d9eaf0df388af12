"""Names of files that are not UTF-8: they are read, or an error of ``tf.errors`` names them."""

import os
import sys

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from towerstrat.graph.eager import mode

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the names of files are texts")


@pytest.fixture
def folder(tmp_path):
    with mode.eager_mode():
        yield os.fsencode(tmp_path)


def lines(dataset):
    return [element.numpy() for element in dataset]


@pytest.mark.parametrize("kind", [bytes, str])
def test_they_are_read(folder, kind):
    path = folder + b"/na\xffme.txt"
    with open(path, "wb") as file:
        file.write(b"1,2\n")
    name = path if kind is bytes else os.fsdecode(path)
    assert tf.read_file(name).numpy() == b"1,2\n"
    assert lines(tf2.data.TextLineDataset(name)) == [b"1,2"]
    assert lines(tf2.data.TextLineDataset([name])) == [b"1,2"]
    assert tf.matching_files(folder + b"/*").numpy().tolist() == [path]
    assert lines(tf2.data.Dataset.list_files(folder + b"/*")) == [path]
    assert tf.gfile.Glob(os.fsdecode(folder) + "/*") == [os.fsdecode(path)]


def test_those_that_are_not_there_are_named(folder):
    path = folder + b"/mi\xffss"
    for read in (
        lambda: lines(tf2.data.TextLineDataset(path)),
        lambda: lines(tf2.data.TFRecordDataset([path])),
        lambda: lines(tf2.data.FixedLengthRecordDataset(path, 4)),
        lambda: tf.train.load_checkpoint(path),
        lambda: tf.train.NewCheckpointReader(path),
        lambda: tf2.train.Checkpoint(v=tf.Variable(1.0)).read(path),
        lambda: tf.gfile.Open(path).read(),
    ):
        with pytest.raises(tf.errors.NotFoundError, match="mi\udcffss"):
            read()
    assert tf.train.latest_checkpoint(path) is None


def test_a_state_file_cannot_say_them(folder, caplog):
    """It is a message, whose texts are UTF-8."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="UTF-8"):
        tf.train.Saver([tf.Variable(1.0)]).save(None, folder + b"/mo\xffdel")
    inside = folder + b"/fol\xffder"
    path = tf.train.Saver([tf.Variable(1.0)]).save(None, inside + b"/model")
    assert path == os.fsdecode(inside) + "/model"
    v = tf.Variable(0.0)
    with caplog.at_level("INFO", "tensorflow"):
        tf.train.Saver([v]).restore(None, path)
    assert float(v) == 1.0
    assert "fol\\udcffder/model" in caplog.text
    with pytest.raises(tf.errors.InvalidArgumentError, match="UTF-8"):
        tf.train.latest_checkpoint(inside)
