"""Datasets of files: ``TextLineDataset``, ``TFRecordDataset``, ``FixedLengthRecordDataset``."""

from __future__ import annotations

from typing import Any

from towerstrat.data import records
from towerstrat.data.dataset import Dataset, scalar
from towerstrat.data.pipeline import Node
from towerstrat.data.sources import Slices, component
from towerstrat.errors import UnsupportedError
from towerstrat.graph.convert import convert_to_tensor
from towerstrat.graph.elements import Tensor
from towerstrat.graph.types import string


def _names(filenames: Any) -> Node:
    """The node of the names that an argument gives: a string, a structure of strings, a tensor or a dataset."""
    if isinstance(filenames, Dataset):
        structure = filenames.node.structure
        if structure.dtypes != (string,) or structure.dims[0] not in ((), None):
            raise TypeError("`filenames` must be a dataset of scalar tf.string tensors, got "
                            f"{filenames.output_types} of shape {filenames.output_shapes}.")  # fmt: skip
        return filenames.node
    names = component(filenames)
    dtype = names.dtype if isinstance(names, Tensor) else None
    if dtype is not string if isinstance(names, Tensor) else names.dtype != object:
        raise TypeError(f"`filenames` must be strings, got {filenames!r}.")
    if isinstance(names, Tensor):
        return Slices(convert_to_tensor(names)) if names.dims != () else Slices(convert_to_tensor([names]))
    return Slices(names.reshape(-1))


def _compression(kind: Any) -> str:
    kind = kind or ""
    if kind not in ("", "GZIP", "ZLIB"):
        raise UnsupportedError(f"compression_type={kind!r}: expected '', 'GZIP' or 'ZLIB'.")
    return str(kind)


class TextLineDataset(Dataset):
    """The lines of text files, as strings without their ends. ``buffer_size`` changes no value."""

    def __init__(self, filenames: Any, compression_type: Any = None, buffer_size: Any = None):
        super().__init__(records.Files(_names(filenames), records.lines, [_compression(compression_type)]))


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as strings. ``buffer_size`` changes no value.

    Args:
      num_parallel_reads: from so many files records are taken in turn.

    Raises (when elements are taken):
      NotFoundError: a file is not there. DataLossError: it is damaged.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ):
        kind, names = _compression(compression_type), _names(filenames)
        if num_parallel_reads is None:
            super().__init__(records.Files(names, records.framed, [kind]))
            return
        one_file = lambda name: Dataset(records.Files(_names(name), records.framed, [kind]))  # noqa: E731
        super().__init__(Dataset(names).interleave(one_file, num_parallel_reads).node)


class FixedLengthRecordDataset(Dataset):
    """The records of one length in binary files, as strings. ``buffer_size`` changes no value."""

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None,
        buffer_size: Any = None,
    ):  # fmt: skip
        sizes = [scalar(n, "FixedLengthRecordDataset", none=0) for n in (record_bytes, header_bytes, footer_bytes)]
        super().__init__(records.Files(_names(filenames), records.fixed, sizes))
