"""Data sets of tf.keras.datasets, from small files in a cache of the test's own."""

import gzip
import io
import json
import os
import pickle
import sys
import tarfile

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.compat.running import names_without_keras
from towerstrat import errors
from towerstrat.compat.bundled import pickled_values
from towerstrat.compat.program.name_resolution import Resolver

RNG = np.random.RandomState(0)
NAMES = names_without_keras()
SETS = NAMES.keras.datasets


@pytest.fixture
def package(monkeypatch):
    """The package keras, whose data sets are the files that they are told, without a look at their checksums."""
    sets = tf.keras.datasets
    monkeypatch.setattr(sys.modules["keras.src.datasets.imdb"], "get_file", lambda path, **_: path)
    return sets


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


def same(found, wanted):
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine[0], theirs[0])
        np.testing.assert_array_equal(mine[1], theirs[1])


def test_mnist(cache):
    parts = {"x_train": RNG.randint(0, 256, (3, 28, 28), np.uint8), "y_train": np.arange(3, dtype=np.uint8),
             "x_test": RNG.randint(0, 256, (2, 28, 28), np.uint8), "y_test": np.arange(2, dtype=np.uint8)}  # fmt: skip
    np.savez(cache / "mnist.npz", **parts)
    same(SETS.mnist.load_data(), [(parts["x_train"], parts["y_train"]), (parts["x_test"], parts["y_test"])])
    assert NAMES.compat.v2.keras.datasets.mnist.load_data is SETS.mnist.load_data
    for name in ("", ".mnist", ".imdb"):
        assert all(Resolver(api).verdict(f"tf.python.keras.datasets{name}").works for api in (1, 2))
    (cache / "fashion-mnist").mkdir()
    for kind, number in (("train", 3), ("t10k", 2)):
        key = "train" if kind == "train" else "test"
        (cache / f"fashion-mnist/{kind}-images-idx3-ubyte.gz").write_bytes(
            gzip.compress(bytes(16) + parts[f"x_{key}"].tobytes())
        )
        (cache / f"fashion-mnist/{kind}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(bytes(8) + bytes(range(number)))
        )
    same(SETS.fashion_mnist.load_data(), SETS.mnist.load_data())


def test_a_missing_file_is_named_with_its_place(cache):
    for load, name in (
        (SETS.mnist.load_data, "mnist.npz"),
        (SETS.fashion_mnist.load_data, "fashion-mnist/train-images-idx3-ubyte.gz"),
        (SETS.cifar10.load_data, "cifar-10-batches-py/data_batch_1"),
        (SETS.imdb.get_word_index, "imdb_word_index.json"),
    ):
        with pytest.raises(errors.NotFoundError, match="nothing is downloaded") as error:
            load()
        assert str(cache / name) in str(error.value)


@pytest.mark.parametrize("packed", [True, False])
def test_cifar(cache, packed):
    def batch(**labels):
        entries = {key.encode(): value for key, value in labels.items()}
        return pickle.dumps({b"data": RNG.randint(0, 256, (2, 3072), np.uint8), **entries})

    ten = {name: batch(labels=[1, 9]) for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")}
    hundred = {name: batch(fine_labels=[5, 99], coarse_labels=[0, 19]) for name in ("train", "test")}
    for folder, files in (("cifar-10-batches-py", ten), ("cifar-100-python", hundred)):
        if packed:
            with tarfile.open(cache / f"{folder}.tar.gz", "w:gz") as archive:
                for name, content in files.items():
                    info = tarfile.TarInfo(f"{folder}/{name}")
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
        else:
            (cache / folder).mkdir()
            for name, content in files.items():
                (cache / folder / name).write_bytes(content)
    (x, y), (x_test, y_test) = SETS.cifar10.load_data()
    assert x.shape == (10, 32, 32, 3)
    assert (y[:, 0].tolist(), y.dtype, y_test.tolist()) == ([1, 9] * 5, np.uint8, [[1], [9]])
    pixels = pickle.loads(ten["test_batch"])[b"data"]
    np.testing.assert_array_equal(x_test[1, 3, 4], pixels[1].reshape(3, 32, 32)[:, 3, 4])
    assert SETS.cifar100.load_data()[0][1].tolist() == [[5], [99]]
    assert SETS.cifar100.load_data("coarse")[1][1].tolist() == [[0], [19]]
    with pytest.raises(ValueError, match="fine"):
        SETS.cifar100.load_data("other")


def ragged(rows):
    found = np.empty(len(rows), object)
    found[:] = rows
    return found


def test_texts_and_tables(cache):
    rows = ragged([[1, 2, 3], [4], [5, 1], [2, 2, 2, 2]])
    np.savez(cache / "imdb.npz", x_train=rows, y_train=[0, 1, 0, 1], x_test=rows[:2], y_test=[1, 0])
    np.savez(cache / "reuters.npz", x=rows, y=[3, 2, 1, 0])
    np.savez(cache / "boston_housing.npz", x=np.arange(20).reshape(10, 2), y=np.arange(10))
    order = np.arange(4)
    np.random.RandomState(113).shuffle(order)
    (x, y), (x_test, _) = SETS.imdb.load_data()
    # The largest number, 8, is not below itself: by default the last word is unknown.
    assert x.tolist() == [[1, *(w + 3 if w < 5 else 2 for w in rows[i])] for i in order]
    assert y.tolist() == [[0, 1, 0, 1][i] for i in order]
    assert len(x_test) == 2
    (x, _), _ = SETS.imdb.load_data(num_words=6, skip_top=5, start_char=None, oov_char=None)
    assert x.tolist() == [[5 for w in rows[i] if w == 2] for i in order]
    (x, _), _ = SETS.imdb.load_data(maxlen=4)
    assert max(map(len, x)) == 3
    with pytest.raises(ValueError, match="no sequence was kept"):
        SETS.imdb.load_data(maxlen=1)
    with pytest.raises(TypeError, match="size"):
        SETS.reuters.load_data(size=1)
    (x, y), (x_test, _) = SETS.reuters.load_data(test_split=0.25, nb_words=100)
    assert (len(x), len(x_test)) == (3, 1)
    assert y.tolist() == [3 - i for i in order[:3]]
    (x, y), (x_test, y_test) = SETS.boston_housing.load_data()
    assert sorted([*y, *y_test]) == list(range(10))
    assert (x[:, 0] == 2 * y).all()
    assert x_test.shape == (2, 2)
    (cache / "imdb_word_index.json").write_text(json.dumps({"film": 1}))
    assert SETS.imdb.get_word_index() == {"film": 1}


# ---- pickles -------------------------------------------------------------------------------------------------------

VALUES = {
    b"data": np.arange(6, dtype=np.uint8).reshape(2, 3), "columns": np.asfortranarray([[1.5, 2.0], [3.0, 4.0]], ">f4"),
    "numbers": [1, 2, 300, 70000, -5, 2**40, True, None, 1.5], "text": "é", "lists": ragged([[1], [2, 3]]),
    "equally long": ragged([[1, 2], [3, 4]]), "tuples": (1, (2, 3, 4), ()), "none": np.empty((0, 3)),
}  # fmt: skip


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_a_pickle_of_data_is_read(protocol):
    found = pickled_values.read(pickle.dumps([VALUES, VALUES["lists"]], protocol), "file")
    assert found[1] is found[0]["lists"]
    assert found[0].keys() == VALUES.keys()
    for key, wanted in VALUES.items():
        value = found[0][key]
        if isinstance(wanted, np.ndarray):
            assert (value.dtype, value.shape, value.flags.f_contiguous) == (
                wanted.dtype, wanted.shape, wanted.flags.f_contiguous,
            )  # fmt: skip
            assert value.tolist() == wanted.tolist()
            assert value.flags.writeable
        else:
            assert value == wanted


def test_a_pickle_of_python_2_is_read():
    """As the files of CIFAR begin: texts are strings of bytes."""
    text = b"\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x15training batch 1 of 5q\x03U\x06labelsq\x04]q\x05(K\x06K\x09eu."
    assert pickled_values.read(text, "file") == {b"batch_label": b"training batch 1 of 5", b"labels": [6, 9]}


class Caller:
    """Pickled as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [1, 2, 4])
@pytest.mark.parametrize(
    "call", [(os.mkdir, "made"), (np.fromfile, "notes"), (eval, "open('made', 'w')"), (np.load, "x"), (print, "x")]
)
def test_a_pickle_that_calls_anything_else_is_refused(call, protocol, cache, package, monkeypatch):
    monkeypatch.chdir(cache)
    attack = pickle.dumps({b"data": Caller(*call), b"labels": [1]}, protocol)
    with pytest.raises(errors.DataLossError, match="expected numbers, texts, lists, dictionaries and arrays, got"):
        pickled_values.read(attack, "file")
    (cache / "cifar-10-batches-py").mkdir()
    (cache / "cifar-10-batches-py" / "data_batch_1").write_bytes(attack)
    rows = np.empty(1, object)
    rows[0] = Caller(*call)
    np.savez(cache / "imdb.npz", x_train=rows)
    for sets in (SETS, package):
        with pytest.raises(errors.DataLossError):
            sets.imdb.load_data(path=str(cache / "imdb.npz"))
    with pytest.raises(errors.DataLossError, match="data_batch_1"):
        SETS.cifar10.load_data()
    with pytest.raises(errors.DataLossError):
        sys.modules["keras.src.datasets.cifar"].load_batch(str(cache / "cifar-10-batches-py" / "data_batch_1"))
    assert sorted(p.name for p in cache.iterdir()) == ["cifar-10-batches-py", "imdb.npz"]


def test_the_keras_package_reads_the_same(cache, package):
    rows = ragged([[1, 2, 3], [4], [5, 1], [2, 2, 2, 2]])
    np.savez(cache / "imdb.npz", x_train=rows, y_train=[0, 1, 0, 1], x_test=rows[:2], y_test=[1, 0])
    path = str(cache / "imdb.npz")
    same(package.imdb.load_data(path=path), SETS.imdb.load_data())
    batch = {b"data": RNG.randint(0, 256, (2, 3072), np.uint8), b"labels": [1, 9]}
    (cache / "batch").write_bytes(pickle.dumps(batch, 2))
    images, labels = sys.modules["keras.src.datasets.cifar"].load_batch(str(cache / "batch"))
    np.testing.assert_array_equal(images, batch[b"data"].reshape(-1, 3, 32, 32))
    assert labels == [1, 9]


def test_weights_in_npz_are_read(tmp_path):
    """A ``.keras`` file may hold its weights as dictionaries of arrays in a ``.npz``."""
    store = sys.modules[tf.keras.Model.__module__.rpartition(".engine")[0] + ".saving.saving_lib"].NpzIOStore
    writing = store(str(tmp_path / "weights.npz"), mode="w")
    writing.make("layer")["0"] = np.arange(3.0)
    writing.close()
    reading = store(str(tmp_path / "weights.npz"))
    assert reading.get("layer")["0"].tolist() == [0.0, 1.0, 2.0]
    assert reading.get("other") == {}
    reading.close()
