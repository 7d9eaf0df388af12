"""Matrices of a checkpoint whose rows or columns stand for words, brought into the order of another vocabulary.

Source: ``tensorflow/python/training/checkpoint_ops.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import HostArray, as_dtype, float32, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.scopes.initializers import truncated_normal_initializer, zeros_initializer
from towerstrat.graph.variables.partitioned import PartitionInfo
from towerstrat.platform.files import GFile
from towerstrat.platform.text import as_text
from towerstrat.training.saving import save_restore_ops  # noqa: F401  (registers what it builds)
from towerstrat.training.saving.checkpoint_reader import CheckpointReader

Initializer = Callable[..., Any]


def load_and_remap_matrix_initializer(
    ckpt_path: str,
    old_tensor_name: str,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> Initializer:
    """An initializer of a matrix from one in a checkpoint: row i is that of the word in line i of the new vocabulary.

    Words that are new, and the buckets of others, which come after all words, start from ``initializer``.

    Args:
      ckpt_path: the checkpoint. old_tensor_name: the matrix in it.
      new_row_vocab_size, new_col_vocab_size: how many words of the new vocabularies there are; where a dimension has no
        vocabularies, its size.
      old_row_vocab_size: how many words of the old vocabulary of rows count; -1: all.
      old_row_vocab_file, new_row_vocab_file, old_col_vocab_file, new_col_vocab_file: files with a word per line; None:
        a dimension stays as it is.
      num_row_oov_buckets, num_col_oov_buckets: how many buckets of other words there are.
      initializer: default ``zeros_initializer``.
      max_rows_in_memory: changes nothing: files are mapped.

    Raises:
      TypeError: ``initializer`` is no function; the initializer is called for another type than float32.
      ValueError: one file of a dimension without the other, none at all, negative numbers of buckets; shapes or words
        that do not fit.
    """
    for what, count in (("num_row_oov_buckets", num_row_oov_buckets), ("num_col_oov_buckets", num_col_oov_buckets)):
        if count < 0:
            raise ValueError(f"{what} must be >= 0, but received {count}")
    rows = _Vocabularies("row", old_row_vocab_file, new_row_vocab_file, old_row_vocab_size)
    columns = _Vocabularies("col", old_col_vocab_file, new_col_vocab_file, -1)
    if not (rows.differ or columns.differ):
        raise ValueError(
            "Must provide either row or column vocab files. If no remapping is necessary, consider using "
            "`tf.contrib.framework.init_from_checkpoint` instead."
        )
    missing = zeros_initializer() if initializer is None else initializer
    if not callable(missing):
        raise TypeError(f"initializer must be callable, instead of being {missing} of type {type(missing)}.")

    def initialize(shape: Any, dtype: Any = float32, partition_info: PartitionInfo | None = None) -> Tensor:
        if as_dtype(dtype) is not float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        sizes = [int(getattr(size, "value", size)) for size in shape]
        width = new_col_vocab_size + num_col_oov_buckets
        if len(sizes) != 2 or sizes[0] <= 0 or sizes[1] != width:
            raise ValueError(f"Expected a shape of 2 dimensions, the second of {width} columns, got {sizes}.")
        start = 0 if partition_info is None else partition_info.single_offset(sizes)
        whole = new_row_vocab_size + num_row_oov_buckets
        if start + sizes[0] > whole:
            raise ValueError(
                f"Trying to initialize {sizes[0]} additional rows after {start} rows have already been initialized, "
                f"which would exceed expected total row count of new_row_vocab_size ({new_row_vocab_size}) + "
                f"num_row_oov_buckets ({num_row_oov_buckets}) = {whole}."
            )
        count = max(0, min(sizes[0], new_row_vocab_size - start))
        if not count:
            return convert_to_tensor(missing(sizes))
        matrix = _Matrix(ckpt_path, old_tensor_name)
        known = matrix.remapped(rows.places(start, count), columns.places(0, new_col_vocab_size), missing)
        if sizes[0] > count:
            further = convert_to_tensor(missing([sizes[0] - count, new_col_vocab_size]))
            known = arrays.concat([known, further], 0)
        if num_col_oov_buckets:
            known = arrays.concat([known, convert_to_tensor(missing([sizes[0], num_col_oov_buckets]))], 1)
        return known

    return initialize


class _Vocabularies:
    """The old and the new vocabulary of a dimension.

    Args:
      what: "row" or "col". old, new: files with a word per line, or None.
      old_size: how many words of the old one count; -1: all.
    """

    def __init__(self, what: str, old: Any, new: Any, old_size: int):
        self._old, self._new, self._old_size = _path(old), _path(new), old_size
        if bool(self._old) != bool(self._new):
            raise ValueError(
                f"old_{what}_vocab_file and new_{what}_vocab_file must both be specified or left unspecified. "
                f"old_{what}_vocab_file='{old}', new_{what}_vocab_file='{new}'"
            )

    @property
    def differ(self) -> bool:
        return bool(self._old)

    def places(self, start: int, count: int) -> HostArray:
        """Where the words from ``start`` on of the new one are in the old one; -1: it does not have them."""
        if not self.differ:
            return np.arange(start, start + count)
        words = _words(self._old)
        known: dict[str, int] = {}
        for i, word in enumerate(words[: self._old_size] if self._old_size >= 0 else words):
            if known.setdefault(word, i) != i:
                raise ValueError(f"{self._old} has the word {word!r} in line {known[word] + 1} and in line {i + 1}.")
        new = _words(self._new)
        if len(new) < start + count:
            raise ValueError(f"{self._new} has {len(new)} words, {start + count} are needed.")
        return np.array([known.get(word, -1) for word in new[start : start + count]])


def _path(file: Any) -> str:
    """A path that is given as text or as a constant tensor; "" for None."""
    if isinstance(file, Tensor):
        value = constant_value(file)
        if value is None:
            raise ValueError(f"The path of a vocabulary must be known while the graph is built, got {file!r}.")
        file = value.item()
    return "" if file is None else as_text(file)


def _words(path: str) -> list[str]:
    with GFile(path) as file:
        return [as_text(line).rstrip("\n") for line in file]


class _Matrix:
    """A matrix in a checkpoint. Raises ValueError where it is none."""

    def __init__(self, path: str, name: str):
        path = _path(path)
        shape = CheckpointReader(path).get_variable_to_shape_map().get(name)
        if shape is None or len(shape) != 2:
            raise ValueError(
                f"Expected a matrix {name!r} in {path}, found " + ("none." if shape is None else f"{shape}.")
            )
        self._path, self._name, self._shape = path, name, shape

    def remapped(self, rows: HostArray, columns: HostArray, missing: Initializer) -> Tensor:
        """Its rows and columns in another order; ``missing`` makes the entries of those that are -1, row by row."""
        for what, places, size in (("row", rows, self._shape[0]), ("column", columns, self._shape[1])):
            if places.max() >= size:
                raise ValueError(f"{self._name!r} in {self._path} has {size} {what}s, {places.max() + 1} are needed.")
        graph = get_default_graph()
        given = [constant(self._path, string), constant([self._name], string), constant([""], string)]
        (value,) = graph.add("RestoreV2", given, {"dtypes": [float32]}, "load_and_remap").outputs
        value.set_shape(self._shape)
        value = gather_scatter.gather(value, np.maximum(rows, 0))
        value = gather_scatter.gather(value, np.maximum(columns, 0), axis=1)
        is_new = (rows < 0)[:, None] | (columns < 0)[None, :]
        count = int(is_new.sum())
        if not count:
            return value
        made = arrays.reshape(convert_to_tensor(missing([count, 1])), [-1])
        order = np.where(is_new, np.cumsum(is_new).reshape(is_new.shape) - 1, 0)
        return arrays.where_v2(is_new, gather_scatter.gather(made, order), value)


def load_embedding_initializer(
    ckpt_path: str,
    embedding_tensor_name: str,
    new_vocab_size: int,
    embedding_dim: int,
    old_vocab_file: Any,
    new_vocab_file: Any,
    old_vocab_size: int = -1,
    num_oov_buckets: int = 0,
    initializer: Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> Initializer:
    """An initializer of embeddings by word; see ``load_and_remap_matrix_initializer``.

    Args:
      initializer: default a truncated normal distribution of standard deviation ``1/sqrt(embedding_dim)``.
      max_rows_in_memory: changes nothing: files are mapped.
    """
    return load_and_remap_matrix_initializer(
        ckpt_path,
        embedding_tensor_name,
        new_vocab_size,
        embedding_dim,
        old_vocab_size,
        old_vocab_file,
        new_vocab_file,
        num_row_oov_buckets=num_oov_buckets,
        initializer=initializer or truncated_normal_initializer(stddev=1.0 / math.sqrt(embedding_dim)),
    )


def load_linear_multiclass_bias_initializer(
    ckpt_path: str,
    bias_tensor_name: str,
    new_class_vocab_size: int,
    old_class_vocab_file: Any,
    new_class_vocab_file: Any,
    num_class_oov_buckets: int = 0,
    initializer: Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> Initializer:
    """An initializer of biases by class, ``[classes, 1]``; see ``load_and_remap_matrix_initializer``.

    Args:
      max_rows_in_memory: changes nothing: files are mapped.
    """
    return load_and_remap_matrix_initializer(
        ckpt_path,
        bias_tensor_name,
        new_class_vocab_size,
        1,
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer,
    )


def load_variable_slot_initializer(
    ckpt_path: str,
    old_tensor_name: str,
    primary_partition_info: PartitionInfo | None,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> Initializer:
    """An initializer of a slot, which is a part as its variable is; see ``load_and_remap_matrix_initializer``.

    Args:
      primary_partition_info: the part that the variable is.
      max_rows_in_memory: changes nothing: files are mapped.
    """
    whole = load_and_remap_matrix_initializer(
        ckpt_path,
        old_tensor_name,
        new_row_vocab_size,
        new_col_vocab_size,
        -1,
        old_row_vocab_file,
        new_row_vocab_file,
        old_col_vocab_file,
        new_col_vocab_file,
        num_row_oov_buckets,
        num_col_oov_buckets,
        initializer,
    )

    def initialize(shape: Sequence[int], dtype: Any = float32, partition_info: Any = None) -> Any:
        return whole(shape, dtype, partition_info=primary_partition_info)

    return initialize
