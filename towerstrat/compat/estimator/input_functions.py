"""``tf.estimator.inputs``: input functions over arrays, data frames and generators in memory.

The originals feed queues of rows; these are datasets of rows, so that their positions are saved with a session's state.
Rows come in order, or shuffled over ``queue_capacity`` of them; a batch goes on from one pass to the next, and after
``num_epochs`` passes (of each of ``num_threads``) the last one may be smaller.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Container, Iterator, Mapping
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.platform import logs

Features = Tensor | dict[str, Tensor]
InputFn = Callable[[], Any]
"""A function of no arguments that gives features, or (features, targets)."""
Columns = Mapping[str, Any]

_TARGET = "__target_key__"
_DIRECT = "__direct_np_input__"


def _check_shuffle(shuffle: bool | None) -> None:
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for "
            f"training); got {shuffle}"
        )


def _rows(rows: DatasetV1, shuffle: bool, queue_capacity: int, num_threads: int, num_epochs: int | None) -> DatasetV1:
    """All rows that are read: each thread of the originals made ``num_epochs`` passes of its own."""
    if num_threads > 1 and num_epochs is not None:
        logs.warning(
            "enqueue_data was called with num_epochs and num_threads > 1. num_epochs is applied per thread, so this "
            "will produce more epochs than you probably intend. If you want to limit epochs, use one thread."
        )
    repeated = rows.repeat(num_epochs and num_epochs * num_threads)
    return repeated.shuffle(queue_capacity) if shuffle else repeated


def _next(batches: DatasetV1) -> Any:
    return batches.make_one_shot_iterator().get_next()


# ---- arrays --------------------------------------------------------------------------------------------------------


def _features_of(x: Any) -> dict[str, Any]:
    """The features in the order of their names. Raises TypeError or ValueError for what are none."""
    if isinstance(x, dict):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return dict(sorted(x.items()))
    if isinstance(x, np.ndarray):
        if x.size == 0:
            raise ValueError("x cannot be an empty array")
        return {_DIRECT: x}
    raise TypeError(f"x must be a dict or array; got {type(x).__name__}")


def _targets_of(y: Any, features: Columns) -> dict[str, Any]:
    """The targets in the order of their names; an array alone is called ``_TARGET``."""
    if y is None:
        return {}
    if not isinstance(y, dict):
        return {_TARGET: y}
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    both = set(features) & set(y)
    if both:
        raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
    return dict(sorted(y.items()))


def _check_lengths(features: Columns, targets: Columns) -> None:
    if len({each.shape[0] for each in (*features.values(), *targets.values())}) != 1:
        of_x, of_y = ({key: each.shape for key, each in found.items()} for found in (features, targets))
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the same length.\n"
            f"Shapes in x: {of_x}\nShapes in y: {of_y.get(_TARGET, of_y or None)}\n"
        )


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> InputFn:
    """An input function that gives batches of rows of arrays.

    Args:
      x: an array [rows, ...], or arrays by name. y: the targets likewise; None: the function gives features alone.
      num_epochs: passes over the rows; None: without end.
      shuffle: whether rows come in random order; it has to be said. The others: see above.

    Raises:
      ValueError: ``shuffle`` is missing. The function raises it for lengths that differ and for names given twice.
    """
    _check_shuffle(shuffle)

    def input_fn() -> Any:
        features = _features_of(x)
        targets = _targets_of(y, features)
        _check_lengths(features, targets)
        rows = _rows(
            DatasetV1.from_tensor_slices((features, targets)), bool(shuffle), queue_capacity, num_threads, num_epochs
        )
        given, wanted = _next(rows.batch(batch_size, drop_remainder=num_epochs is None))
        found = given[_DIRECT] if isinstance(x, np.ndarray) else given
        return found if y is None else (found, wanted if isinstance(y, dict) else wanted[_TARGET])

    return input_fn


# ---- data frames ---------------------------------------------------------------------------------------------------


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int | None = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> InputFn:
    """An input function that gives batches of rows of a ``DataFrame``: a vector for each column, by name.

    Args:
      y: the targets, a ``Series`` or, for several, a ``DataFrame``, with the index of ``x``.
      target_column: kept free in ``x`` for a ``Series``. The others: see ``numpy_input_fn``.

    Raises:
      ValueError: ``shuffle`` is missing, the indexes differ, or ``x`` has a column ``target_column``.
      TypeError: pandas is not installed, or ``target_column`` is no string.
    """
    if importlib.util.find_spec("pandas") is None:
        raise TypeError("pandas_input_fn should not be called without pandas installed")
    _check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    if y is not None:
        if target_column in x:
            raise ValueError(
                f"Cannot use name {target_column} for target column: DataFrame already has a column with that name: "
                f"{x.columns}"
            )
        if not np.array_equal(x.index, y.index):
            raise ValueError(f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n")
    several = y is not None and hasattr(y, "columns")
    features = {name: x[name].to_numpy(copy=True) for name in x.columns}
    targets = {name: y[name].to_numpy(copy=True) for name in y.columns} if several else {}
    if y is not None and not several:
        targets = {target_column: y.to_numpy(copy=True)}
    capacity = (4 if shuffle else 1) * len(x) if queue_capacity is None else queue_capacity

    def input_fn() -> Any:
        rows = _rows(
            DatasetV1.from_tensor_slices((features, targets)), bool(shuffle), capacity, num_threads, num_epochs
        )
        given, wanted = _next(rows.batch(batch_size, drop_remainder=num_epochs is None))
        return given if y is None else (given, wanted if several else wanted[target_column])

    return input_fn


# ---- generators ----------------------------------------------------------------------------------------------------


def _target_keys(target_key: Any, keys: list[str]) -> list[str]:
    if target_key is None:
        return []
    if isinstance(target_key, str):
        return [target_key]
    if not isinstance(target_key, Container):
        raise TypeError(f"target_key must be str or Container of str; got {type(target_key).__name__}")
    found = list(target_key)  # type: ignore[call-overload]
    for key in found:
        if not isinstance(key, str):
            raise TypeError(f"target_key must be str or Container of str; got {type(key).__name__}")
        if key not in keys:
            raise KeyError(f"target_key not in yielded dict. Expected {keys} keys; got {key}")
    return found


def _first_sample(x: Any) -> dict[str, Any]:
    if not isinstance(x, FunctionType):
        raise TypeError(f"x must be generator function; got {type(x).__name__}")
    generator = x()
    if not isinstance(generator, GeneratorType):
        raise TypeError(f"x() must be generator; got {type(generator).__name__}")
    sample = next(generator)
    if not isinstance(sample, dict):
        raise TypeError(f"x() must yield dict; got {type(sample).__name__}")
    return {key: np.asarray(sample[key]) for key in sorted(sample)}


def generator_input_fn(
    x: Callable[[], Iterator[Columns]],
    target_key: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    pad_value: Any = None,
) -> InputFn:
    """An input function that gives batches of what a generator yields: dictionaries of arrays, one for each row.

    Args:
      x: a generator function; each call is one pass.
      target_key: the name of the target, or names of targets; None: the function gives features alone.
      pad_value: rows are padded with it along their last axis, to the longest of a batch. None: all have one shape.
      The others: see ``numpy_input_fn``.

    Raises:
      TypeError: ``x`` is no generator function of dictionaries, or ``target_key`` is no string or strings.
      KeyError: rows have no such key, or other keys than the first.
      NotImplementedError: padded and shuffled.
    """
    first = _first_sample(x)
    targets = _target_keys(target_key, list(first))

    def samples() -> Iterator[dict[str, Any]]:
        for row in x():
            if set(first) - set(row):
                raise KeyError(
                    f"key mismatch between dicts emitted by GenFun Expected {list(first)} keys; got {row.keys()}"
                )
            yield {key: row[key] for key in first}

    def input_fn() -> Any:
        if shuffle and pad_value is not None:
            raise NotImplementedError("padding and shuffling data at the same time is not implemented")
        types = {key: as_dtype(value.dtype) for key, value in first.items()}
        padded = {key: [*value.shape[:-1], None][: value.ndim] for key, value in first.items()}
        shapes = {key: list(value.shape) for key, value in first.items()} if pad_value is None else padded
        rows = _rows(DatasetV1.from_generator(samples, types, shapes), shuffle, queue_capacity, num_threads, num_epochs)
        whole = num_epochs is None
        if pad_value is None:
            found = _next(rows.batch(batch_size, drop_remainder=whole))
        else:
            values = {key: value.dtype.type(pad_value) for key, value in first.items()}
            found = _next(rows.padded_batch(batch_size, padded, values, drop_remainder=whole))
        wanted = {key: found.pop(key) for key in targets}
        if not targets:
            return found
        return found, wanted if len(targets) > 1 else wanted[targets[0]]

    return input_fn
