"""``tf.keras.datasets``: data sets as numpy arrays, read from Keras's cache of files. Nothing is downloaded.

The cache is ``$KERAS_HOME/datasets``, by default ``~/.keras/datasets``. Shuffles use ``seed`` and leave
``numpy.random`` as it is.
"""

from __future__ import annotations

import gzip
import json
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from towerstrat.compat.bundled import pickled_values
from towerstrat.errors import DataLossError, NotFoundError
from towerstrat.platform.files import Exists, GFile

Array = npt.NDArray[Any]
Parts = tuple[tuple[Array, Array], tuple[Array, Array]]
"""``(x_train, y_train), (x_test, y_test)``."""

_KERAS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/"


def _cached(name: str, source: str, folder: str = "datasets") -> str:
    """The path of a file of the cache; an absolute ``name`` is one itself.

    Raises:
      NotFoundError: it is not there; it says where it belongs and where to have it from.
    """
    home = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    path = os.path.join(home, folder, name)
    if Exists(path):
        return path
    raise NotFoundError(None, None, f"{path} is not there, and nothing is downloaded: put the file {source} there.")


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Turns what reading a damaged file ends in into DataLossError."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, KeyError, OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise DataLossError(
            None, None, f"{path}: expected a file of the data set, and it is damaged: {error}."
        ) from None


def _arrays(name: str, file: str) -> dict[str, Array]:
    path = _cached(name, _KERAS + file)
    with GFile(path, "rb") as opened:
        return pickled_values.read_arrays(opened.read(), path)


def mnist(path: str = "mnist.npz") -> Parts:
    """MNIST: images ``[n, 28, 28]`` and digits ``[n]``, uint8. Raises NotFoundError where ``path`` is not cached."""
    f = _arrays(path, "mnist.npz")
    return (f["x_train"], f["y_train"]), (f["x_test"], f["y_test"])


def fashion_mnist() -> Parts:
    """Fashion-MNIST: images ``[n, 28, 28]`` and classes ``[n]``, uint8. Raises NotFoundError without its four files."""
    found = []
    for kind in ("train", "t10k"):
        for name, start in ((f"{kind}-images-idx3-ubyte.gz", 16), (f"{kind}-labels-idx1-ubyte.gz", 8)):
            path = _cached(name, _KERAS + name, os.path.join("datasets", "fashion-mnist"))
            with GFile(path, "rb") as file, _readable(path):
                found.append(np.frombuffer(gzip.decompress(file.read()), np.uint8, offset=start))
    x_train, y_train, x_test, y_test = found
    return (x_train.reshape(-1, 28, 28), y_train), (x_test.reshape(-1, 28, 28), y_test)


# ---- CIFAR ---------------------------------------------------------------------------------------------------------


def _batches(folder: str, archive: str, names: list[str], labels: str) -> tuple[Array, Array]:
    """Images ``[n, 32, 32, 3]`` and labels ``[n, 1]`` of pickled batches, in a folder of the cache or an archive."""
    images, classes = [], []
    for name in names:
        batch = pickled_values.read(_member(folder, archive, name), f"{folder}/{name}")
        with _readable(f"{folder}/{name}"):
            images.append(batch[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
            classes.append(np.asarray(batch[labels.encode()]))
    return np.concatenate(images), np.concatenate(classes).reshape(-1, 1)


def _member(folder: str, archive: str, name: str) -> bytes:
    """A file of a folder of the cache, or of the archive that the folder is made from, ``FOLDER.tar.gz``."""
    try:
        packed = _cached(f"{folder}.tar.gz", _CIFAR + archive)
    except NotFoundError:
        with GFile(_cached(os.path.join(folder, name), f"{name} of {_CIFAR}{archive}"), "rb") as file:
            content: bytes = file.read()
            return content
    with _readable(packed), tarfile.open(packed) as opened:
        member = opened.extractfile(f"{folder}/{name}")
        if member is None:
            raise NotFoundError(None, None, f"{packed} has no file {folder}/{name}.")
        return member.read()


def cifar10() -> Parts:
    """CIFAR-10: images ``[n, 32, 32, 3]``, uint8, and classes ``[n, 1]``.

    Raises:
      NotFoundError: neither ``cifar-10-batches-py.tar.gz`` nor the folder ``cifar-10-batches-py`` is in the cache.
    """
    where = "cifar-10-batches-py", "cifar-10-python.tar.gz"
    images, classes = _batches(*where, [f"data_batch_{i}" for i in range(1, 6)], "labels")
    return (images, classes.astype(np.uint8)), _batches(*where, ["test_batch"], "labels")


def cifar100(label_mode: str = "fine") -> Parts:
    """CIFAR-100: images ``[n, 32, 32, 3]``, uint8, and classes ``[n, 1]``, "fine" ones or "coarse".

    Raises:
      ValueError: another ``label_mode``.
      NotFoundError: neither ``cifar-100-python.tar.gz`` nor the folder ``cifar-100-python`` is in the cache.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f'`label_mode` must be one of `"fine"`, `"coarse"`, got {label_mode!r}.')
    where = "cifar-100-python", "cifar-100-python.tar.gz"
    return _batches(*where, ["train"], f"{label_mode}_labels"), _batches(*where, ["test"], f"{label_mode}_labels")


# ---- tables and texts ----------------------------------------------------------------------------------------------


def _shuffled(draws: np.random.RandomState, *arrays: Array) -> list[Array]:
    order = np.arange(len(arrays[0]))
    draws.shuffle(order)
    return [a[order] for a in arrays]


def boston_housing(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Parts:
    """Figures of Boston's districts and prices of houses, shuffled; the last part, ``test_split``, is for testing."""
    if not 0 <= test_split < 1:
        raise ValueError(f"Expected test_split in [0, 1), got {test_split}.")
    f = _arrays(path, "boston_housing.npz")
    x, y = _shuffled(np.random.RandomState(seed), f["x"], f["y"])
    end = int(len(x) * (1 - test_split))
    return (x[:end], y[:end]), (x[end:], y[end:])


def _begun(sequences: Array, start_char: int | None, index_from: int) -> list[list[int]]:
    first = [] if start_char is None else [start_char]
    return [first + [w + index_from for w in x] for x in sequences]


def _short(sequences: list[list[int]], labels: Array, maxlen: int | None) -> tuple[list[list[int]], Array]:
    kept = [i for i, x in enumerate(sequences) if not maxlen or len(x) < maxlen]
    if not kept:
        raise ValueError(
            f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. Increase maxlen."
        )
    return [sequences[i] for i in kept], labels[kept]


def _words(
    sequences: list[list[int]], num_words: int | None, skip_top: int, oov_char: int | None, largest: int
) -> Array:
    """Sequences with the words outside of ``[skip_top, num_words)`` replaced, or left out."""
    end = num_words or largest
    found = np.empty(len(sequences), object)
    for i, x in enumerate(sequences):
        inside = [skip_top <= w < end for w in x]
        pairs = zip(x, inside, strict=True)
        found[i] = [w if ok else oov_char for w, ok in pairs] if oov_char is not None else [w for w, ok in pairs if ok]
    return found


def _old_words(num_words: int | None, kwargs: dict[str, Any]) -> int | None:
    """``num_words``, or its old name ``nb_words``. Raises TypeError for other names."""
    num_words = kwargs.pop("nb_words", num_words)
    if kwargs:
        raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
    return num_words


def imdb(
    path: str = "imdb.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None,
    seed: int = 113, start_char: int | None = 1, oov_char: int | None = 2, index_from: int = 3, **kwargs: Any,
) -> Parts:  # fmt: skip
    """Reviews of films as lists of word numbers, and whether they are favourable.

    Args:
      num_words, skip_top: words whose number is outside of ``[skip_top, num_words)`` become ``oov_char``; None: are
        left out.
      maxlen: leave out reviews of this length and longer.
      start_char: stands before each review. index_from: is added to word numbers.

    Raises:
      NotFoundError: the file is not in the cache. ValueError: ``maxlen`` leaves nothing.
    """
    num_words = _old_words(num_words, kwargs)
    f = _arrays(path, "imdb.npz")
    draws = np.random.RandomState(seed)
    parts = []
    for kind in ("train", "test"):
        x, y = _shuffled(draws, f[f"x_{kind}"], f[f"y_{kind}"])
        parts.append(_short(_begun(x, start_char, index_from), y, maxlen))
    largest = max(max(x) for sequences, _ in parts for x in sequences)
    (x_train, y_train), (x_test, y_test) = [(_words(x, num_words, skip_top, oov_char, largest), y) for x, y in parts]
    return (x_train, y_train), (x_test, y_test)


def reuters(
    path: str = "reuters.npz", num_words: int | None = None, skip_top: int = 0, maxlen: int | None = None,
    test_split: float = 0.2, seed: int = 113, start_char: int | None = 1, oov_char: int | None = 2,
    index_from: int = 3, **kwargs: Any,
) -> Parts:  # fmt: skip
    """News as lists of word numbers, and their topics; the last ``test_split`` is for testing. Else as ``imdb``."""
    num_words = _old_words(num_words, kwargs)
    f = _arrays(path, "reuters.npz")
    xs, labels = _shuffled(np.random.RandomState(seed), f["x"], f["y"])
    sequences, labels = _short(_begun(xs, start_char, index_from), labels, maxlen)
    x = _words(sequences, num_words, skip_top, oov_char, max(map(max, sequences)))
    end = int(len(x) * (1 - test_split))
    return (x[:end], labels[:end]), (x[end:], labels[end:])


def _index(name: str, file: str) -> dict[str, int]:
    path = _cached(name, _KERAS + file)
    with GFile(path) as opened, _readable(path):
        found: dict[str, int] = json.loads(opened.read())
        return found


def imdb_words(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Word -> its number in the reviews before ``index_from`` is added."""
    return _index(path, "imdb_word_index.json")


def reuters_words(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Word -> its number in the news before ``index_from`` is added."""
    return _index(path, "reuters_word_index.json")
