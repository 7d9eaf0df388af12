"""MNIST from its files, in batches: ``tensorflow.examples.tutorials.mnist.input_data`` and ``tf.contrib.learn``'s."""

from __future__ import annotations

import gzip
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from towerstrat.compat.bundled.contrib_datasets import Datasets, maybe_download
from towerstrat.graph.ir.types import as_dtype, float32, uint8
from towerstrat.graph.ops.random.stateful import get_seed
from towerstrat.platform.files import GFile

Array = npt.NDArray[Any]

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_IMAGES, _LABELS = 2051, 2049
"""The first number of the two kinds of files."""
_SIZE, _CLASSES = 784, 10


def _content(f: Any, magic: int, kind: str) -> tuple[Array, bytes]:
    """The numbers at the start of a file, compressed or not, and the bytes after them."""
    print("Extracting", f.name)
    data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    count = 4 if magic == _IMAGES else 2
    numbers = np.frombuffer(data[: 4 * count], ">u4")
    if not len(numbers) or numbers[0] != magic:
        raise ValueError(f"Invalid magic number {numbers[:1]} in MNIST {kind} file: {f.name}; expected {magic}.")
    return numbers[1:].astype(int), data[4 * count :]


def extract_images(f: Any) -> Array:
    """Images ``[index, row, column, 1]``, uint8, of an open file in the format idx.

    Raises:
      ValueError: it is a file of something else.
    """
    shape, data = _content(f, _IMAGES, "image")
    return np.frombuffer(data, np.uint8, int(np.prod(shape))).reshape(*shape, 1)


def dense_to_one_hot(labels_dense: Array, num_classes: int) -> Array:
    """Labels ``[n]`` as rows ``[n, num_classes]``, float64, with a 1 each."""
    return np.eye(num_classes)[labels_dense.ravel()]


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = _CLASSES) -> Array:
    """Labels ``[index]``, uint8, or one-hot, of an open file in the format idx.

    Raises:
      ValueError: it is a file of something else.
    """
    (count,), data = _content(f, _LABELS, "label")
    labels = np.frombuffer(data, np.uint8, count)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


class DataSet:
    """Images and labels, handed out in batches.

    Args:
      images: ``[n, rows, columns, 1]``, uint8. labels: ``[n]`` or ``[n, classes]``.
      fake_data: whether there are none, and every batch is all ones. one_hot: whether its labels are rows then.
      dtype: float32 for values in [0, 1], uint8 for [0, 255].
      reshape: whether images become rows ``[n, rows * columns]``.
      seed: of the order in which batches come, which is drawn from ``numpy.random``; None: the graph's seed.

    Raises:
      TypeError: another ``dtype``. ValueError: not as many labels as images, or images with several channels.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = float32,
        reshape: bool = True,
        seed: int | None = None,
    ):
        of_graph, own = get_seed(seed)
        np.random.seed(of_graph if seed is None else own)
        kind = as_dtype(dtype).base_dtype
        if kind not in (uint8, float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        if fake_data:
            self._num_examples = 10000
            self.one_hot = one_hot
        else:
            if len(images) != len(labels):
                raise ValueError(
                    f"images.shape: {images.shape} labels.shape: {labels.shape}: expected as many of both."
                )
            self._num_examples = len(images)
            if reshape:
                if images.shape[3] != 1:
                    raise ValueError(f"reshape=True is for images of one channel, got shape {images.shape}.")
                images = images.reshape(len(images), images.shape[1] * images.shape[2])
            if kind is float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images = images
        self._labels = labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        return self._images

    @property
    def labels(self) -> Any:
        return self._labels

    @property
    def num_examples(self) -> int:
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        return self._epochs_completed

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next images and labels. A batch at the end of an epoch goes on with the next one, in another order."""
        if fake_data:
            label = [1] + [0] * (_CLASSES - 1) if self.one_hot else 0
            return [[1] * _SIZE for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if shuffle and self._epochs_completed == 0 and start == 0:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end = end - self._num_examples
        return np.concatenate((rest[0], self._images[:end])), np.concatenate((rest[1], self._labels[:end]))

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """MNIST's four files in a folder, as ``train``, ``validation`` and ``test``.

    Args:
      train_dir: where the files are; nothing is downloaded.
      validation_size: so many of the first images for training are for validation.
      source_url: where the files can be had.
      fake_data, one_hot, dtype, reshape, seed: those of ``DataSet``.

    Raises:
      NotFoundError: a file is not there; it says which to put where.
      ValueError: ``validation_size`` is negative or more than there are.
    """
    if fake_data:
        train, validation, test = (
            DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3)
        )
        return Datasets(train=train, validation=validation, test=test)
    read = []
    for kind in ("train", "t10k"):
        for name in (f"{kind}-images-idx3-ubyte.gz", f"{kind}-labels-idx1-ubyte.gz"):
            path = maybe_download(name, train_dir, os.path.join(source_url or DEFAULT_SOURCE_URL, name))
            with GFile(path, "rb") as file:
                read.append(extract_images(file) if "images" in name else extract_labels(file, one_hot=one_hot))
    images, labels, test_images, test_labels = read
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"Validation size should be between 0 and {len(images)}. Received: {validation_size}.")
    first, rest = slice(validation_size), slice(validation_size, None)
    parts = [(images[rest], labels[rest]), (images[first], labels[first]), (test_images, test_labels)]
    return Datasets(*[DataSet(*part, dtype=dtype, reshape=reshape, seed=seed) for part in parts])


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """``read_data_sets`` of a folder."""
    return read_data_sets(train_dir)
