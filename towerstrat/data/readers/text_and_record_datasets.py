"""Datasets of files: ``TextLineDataset``, ``TFRecordDataset``, ``FixedLengthRecordDataset``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.files import record_nodes
from towerstrat.data.pipeline.arguments import scalar
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.data.pipeline.sources import Slices, component
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import string


def names_of(filenames: Any) -> DatasetNode:
    """The node of the names that an argument gives: a string, a structure of strings, a tensor or a dataset."""
    if isinstance(filenames, Dataset):
        structure = filenames.node.structure
        if structure.dtypes != (string,) or structure.dims[0] not in ((), None):
            raise TypeError("`filenames` must be a dataset of scalar tf.string tensors, got "
                            f"{structure.types} of shape {structure.shapes}.")  # fmt: skip
        return filenames.node
    names = component(filenames)
    dtype = names.dtype if isinstance(names, Tensor) else None
    if dtype is not string if isinstance(names, Tensor) else names.dtype != object:
        raise TypeError(f"`filenames` must be strings, got {filenames!r}.")
    if isinstance(names, Tensor):
        return Slices(convert_to_tensor(names)) if names.dims != () else Slices(convert_to_tensor([names]))
    return Slices(names.reshape(-1))


def compression_of(kind: Any) -> Any:
    """A kind of compression: its name, or a string scalar of a graph that is evaluated when an iterator starts."""
    if isinstance(kind, Tensor):
        if kind.dtype is not string or kind.dims not in ((), None):
            raise TypeError(f"compression_type: expected a string scalar, got {kind!r}.")
        return record_nodes.compression_name(kind.numpy()) if isinstance(kind, EagerTensor) else kind
    return record_nodes.compression_name(kind or "")


def _lines(filenames: Any, compression: Any, parallel: Any) -> DatasetNode:
    return _in_turn(names_of(filenames), record_nodes.lines, [compression_of(compression)], parallel)


def _framed(filenames: Any, compression: Any, parallel: Any) -> DatasetNode:
    return _in_turn(names_of(filenames), record_nodes.framed, [compression_of(compression)], parallel)


def _fixed(filenames: Any, sizes: Sequence[Any], compression: Any, parallel: Any) -> DatasetNode:
    arguments = [scalar(n, "FixedLengthRecordDataset", none=0) for n in sizes]
    if compression is not None:
        arguments.append(compression_of(compression))
    return _in_turn(names_of(filenames), record_nodes.fixed, arguments, parallel)


def _in_turn(names: DatasetNode, read: Callable[..., Any], arguments: Sequence[Any], parallel: Any) -> DatasetNode:
    """The records of one file after the other, or of ``parallel`` files in turn."""
    if parallel is None:
        return record_nodes.Files(names, read, arguments)
    return (
        Dataset(names)
        .interleave(lambda name: Dataset(record_nodes.Files(names_of(name), read, arguments)), parallel)
        .node
    )


class TextLineDataset(Dataset):
    """The lines of text files, as strings without their ends. ``buffer_size`` changes no value.

    Args:
      num_parallel_reads: from so many files lines are taken in turn.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None,
        name: str | None = None,
    ):  # fmt: skip
        super().__init__(_lines(filenames, compression_type, num_parallel_reads))


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as strings. ``buffer_size`` changes no value.

    Args:
      num_parallel_reads: from so many files records are taken in turn.

    Raises (when elements are taken):
      NotFoundError: a file is not there. DataLossError: it is damaged.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None,
        name: str | None = None,
    ):  # fmt: skip
        super().__init__(_framed(filenames, compression_type, num_parallel_reads))


class FixedLengthRecordDataset(Dataset):
    """The records of one length in binary files, as strings. ``buffer_size`` changes no value.

    Args:
      num_parallel_reads: from so many files records are taken in turn.
    """

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None,
        buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None, name: str | None = None,
    ):  # fmt: skip
        sizes = (record_bytes, header_bytes, footer_bytes)
        super().__init__(_fixed(filenames, sizes, compression_type, num_parallel_reads))


class TextLineDatasetV1(DatasetV1):
    """The lines of text files, as strings without their ends. ``buffer_size`` changes no value.

    Args:
      num_parallel_reads: from so many files lines are taken in turn.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ):
        super().__init__(_lines(filenames, compression_type, num_parallel_reads))


class TFRecordDatasetV1(DatasetV1):
    """The records of TFRecord files, as strings. ``buffer_size`` changes no value.

    Args:
      num_parallel_reads: from so many files records are taken in turn.

    Raises (when elements are taken):
      NotFoundError: a file is not there. DataLossError: it is damaged.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ):
        super().__init__(_framed(filenames, compression_type, num_parallel_reads))


class FixedLengthRecordDatasetV1(DatasetV1):
    """The records of one length in binary files, as strings. ``buffer_size`` changes no value.

    Args:
      num_parallel_reads: from so many files records are taken in turn.
    """

    def __init__(
        self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None,
        buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None,
    ):  # fmt: skip
        sizes = (record_bytes, header_bytes, footer_bytes)
        super().__init__(_fixed(filenames, sizes, compression_type, num_parallel_reads))
