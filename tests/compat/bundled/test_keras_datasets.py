"""Data sets of tf.keras.datasets, from small files in a cache of the test's own."""

import gzip
import io
import json
import pickle
import tarfile

import numpy as np
import pytest

from tests.compat.running import names_without_keras
from towerstrat import errors
from towerstrat.compat.program.name_resolution import Resolver

RNG = np.random.RandomState(0)
NAMES = names_without_keras()
SETS = NAMES.keras.datasets


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
