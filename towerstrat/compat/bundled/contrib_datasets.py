"""``tf.contrib.learn.datasets``: tables in files of comma-separated values, and where files are looked for."""

from __future__ import annotations

import csv
import os
from typing import Any, NamedTuple

import numpy as np

from towerstrat.errors import NotFoundError
from towerstrat.platform.files import Exists, GFile


class Dataset(NamedTuple):
    """Rows of features, and a target for each."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """Data for training, for validation and for testing."""

    train: Any
    validation: Any
    test: Any


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """The path of a file in a folder; of a compressed one, ``.gz``, also without that ending. Nothing is fetched.

    Raises:
      NotFoundError: it is not there; it says where to have it from.
    """
    path = os.path.join(work_directory, filename)
    for candidate in (path, path.removesuffix(".gz")):
        if Exists(candidate):
            return candidate
    raise NotFoundError(
        None,
        None,
        f"{path} is not there, and nothing is downloaded: put the file {source_url} into {work_directory!r}.",
    )


def load_csv_with_header(filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """A table whose first line has the numbers of rows and of features.

    Args:
      target_column: which column is the target; the others are features, in their order.

    Raises:
      ValueError: another number of rows or features.
    """
    with GFile(filename) as file:
        header, *rows = list(csv.reader(file))
    shape = int(header[0]), int(header[1])
    target = [row.pop(target_column) for row in rows]
    data = np.asarray(rows, features_dtype)
    if data.shape != shape:
        raise ValueError(f"{filename}: its first line says {shape} rows and features, got {data.shape}.")
    return Dataset(data, np.asarray(target, target_dtype))


def load_csv_without_header(filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """``load_csv_with_header`` of a table that begins at once."""
    with GFile(filename) as file:
        rows = list(csv.reader(file))
    target = [row.pop(target_column) for row in rows]
    return Dataset(np.asarray(rows, features_dtype), np.asarray(target, target_dtype))


def shrink_csv(filename: str, ratio: int) -> None:
    """Writes each ``ratio``-th line of a table to a file beside it, ``NAME_small.csv``."""
    with GFile(filename) as file, GFile(filename.replace(".", "_small."), "w") as small:
        writer = csv.writer(small)
        for i, row in enumerate(csv.reader(file)):
            if i % ratio == 0:
                writer.writerow(row)


def load_iris(data_path: str | None = None) -> Dataset:
    """The measures of 150 irises ``[150, 4]`` and their kinds.

    Raises:
      NotFoundError: no ``data_path``: the file came in the original's wheel.
    """
    return load_csv_with_header(_given(data_path, "iris.csv"), target_dtype=int, features_dtype=float)


def load_boston(data_path: str | None = None) -> Dataset:
    """Figures of Boston's districts and the prices of their houses.

    Raises:
      NotFoundError: no ``data_path``: the file came in the original's wheel.
    """
    return load_csv_with_header(_given(data_path, "boston_house_prices.csv"), target_dtype=float, features_dtype=float)


def _given(path: str | None, name: str) -> str:
    if path is None:
        raise NotFoundError(
            None,
            None,
            f"{name} came in TensorFlow's wheel and is not here. Give its path as data_path; the file is in "
            "tensorflow/contrib/learn/python/learn/datasets/data of the wheels of 1.x.",
        )
    return path
