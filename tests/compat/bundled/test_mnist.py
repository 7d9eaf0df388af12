"""MNIST's files are read as the original reads them, and its batches come in the same order."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import mnist_cases
from towerstrat.compat import importer
from towerstrat.compat.bundled import mnist_data

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "mnist.json").read_text())


@pytest.mark.parametrize("name", GOLDEN["orders"])
def test_batches_come_in_the_order_of_the_original(name):
    assert json.loads(json.dumps(mnist_cases.orders(tf, mnist_data)))[name] == GOLDEN["orders"][name]


def test_files_are_read_as_by_the_original(tmp_path, capsys):
    mnist_cases.write(tmp_path)
    assert json.loads(json.dumps(mnist_cases.files(mnist_data, str(tmp_path)))) == GOLDEN["files"]
    assert f"Extracting {tmp_path}/train-images-idx3-ubyte.gz" in capsys.readouterr().out


def test_files_that_are_not_compressed(tmp_path):
    mnist_cases.write(tmp_path)
    packed = mnist_data.read_data_sets(str(tmp_path), validation_size=0, seed=1)
    for path in list(tmp_path.iterdir()):
        path.with_suffix("").write_bytes(mnist_cases.gzip.decompress(path.read_bytes()))
        path.unlink()
    plain = mnist_data.read_data_sets(str(tmp_path), validation_size=0, seed=1)
    np.testing.assert_array_equal(plain.train.images, packed.train.images)


def test_a_missing_file_says_which_goes_where(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match=r"put the file https://.*/train-images-idx3-ubyte.gz into '.*'"):
        mnist_data.read_data_sets(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_is_said(tmp_path):
    mnist_cases.write(tmp_path)
    with pytest.raises(ValueError, match="between 0 and 10. Received: 11"):
        mnist_data.read_data_sets(str(tmp_path), validation_size=11)
    file = tf.gfile.GFile(str(tmp_path / "train-labels-idx1-ubyte.gz"), "rb")
    with file, pytest.raises(ValueError, match=r"Invalid magic number \[2049\] in MNIST image file"):
        mnist_data.extract_images(file)
    images, labels = mnist_cases.images(3), mnist_cases.labels(3)
    with pytest.raises(TypeError, match="expected uint8 or float32"):
        mnist_data.DataSet(images, labels, dtype=tf.float64)
    with pytest.raises(ValueError, match="as many of both"):
        mnist_data.DataSet(images, labels[:2])
    with pytest.raises(ValueError, match="one channel"):
        mnist_data.DataSet(images.reshape(3, 2, 1, 3), labels)


def test_it_has_the_paths_of_the_original():
    with importer.names_installed():
        import tensorflow
        from tensorflow.contrib.learn.python.learn.datasets import mnist
        from tensorflow.examples.tutorials.mnist import input_data
        from tensorflow.examples.tutorials.mnist import mnist as model

        learn = tensorflow.contrib.learn.datasets
        assert input_data.read_data_sets is mnist.read_data_sets is learn.mnist.read_data_sets
        assert model.IMAGE_PIXELS == 784
        with pytest.raises(ValueError, match="dbpedia; there are iris, boston, mnist"):
            learn.load_dataset("dbpedia")
        with pytest.raises(tf.errors.NotFoundError, match=r"iris.csv came in TensorFlow's wheel.*data_path"):
            learn.load_dataset("iris")


def test_tables(tmp_path):
    with importer.names_installed():
        from tensorflow.contrib.learn.python.learn.datasets import base
    path = str(tmp_path / "table.csv")
    Path(path).write_text("3,2,a,b\n1.5,2,0\n3,4,1\n5,6,2\n")
    table = base.load_csv_with_header(path, target_dtype=np.int32, features_dtype=np.float32)
    assert (table.data.dtype, table.target.dtype) == (np.float32, np.int32)
    np.testing.assert_array_equal(table.data, [[1.5, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(table.target, [0, 1, 2])
    np.testing.assert_array_equal(base.load_iris(path).target, [0, 1, 2])
    first = base.load_csv_with_header(path, np.float64, np.float64, target_column=0)
    np.testing.assert_array_equal(first.target, [1.5, 3, 5])
    Path(path).write_text("1.5,2,0\n3,4,1\n5,6,2\n")
    base.shrink_csv(path, 2)
    small = base.load_csv_without_header(str(tmp_path / "table_small.csv"), np.int32, np.float32)
    np.testing.assert_array_equal(small.data, [[1.5, 2], [5, 6]])
    np.testing.assert_array_equal(small.target, [0, 2])
    Path(path).write_text("4,2\n1,2,0\n")
    with pytest.raises(ValueError, match=r"says \(4, 2\) rows and features, got \(1, 2\)"):
        base.load_boston(path)


def test_the_example_trains():
    with importer.names_installed():
        from tensorflow.examples.tutorials.mnist import mnist
    with tf.Session() as session:
        tf.set_random_seed(1)
        images = np.random.default_rng(0).random((32, 784), np.float32)
        labels = np.arange(32, dtype=np.int32) % 10
        logits = mnist.inference(tf.constant(images), 16, 8)
        loss = mnist.loss(logits, tf.constant(labels))
        step = mnist.training(loss, 0.1)
        right = mnist.evaluation(logits, tf.constant(labels))
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(20):
            session.run(step)
        after, count = session.run([loss, right])
        assert after < before
        assert count == (session.run(logits).argmax(axis=1) == labels).sum()
        names = [v.op.name for v in tf.global_variables()]
        assert names == [f"{layer}/{v}" for layer in ("hidden1", "hidden2", "softmax_linear")
                         for v in ("weights", "biases")] + ["global_step"]  # fmt: skip
        assert session.run(tf.global_variables()[-1]) == 20
