"""Operations on files, which the host carries out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import HostArray, string
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.text.string_kernels import filled
from towerstrat.platform.files import Glob
from towerstrat.platform.storage import storage_of


def _matching_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    (pattern,) = inputs
    if pattern.dims is not None and len(pattern.dims) > 1:
        raise ValueError(f"Expected a pattern or a vector of patterns, got the shape {pattern.shape}.")
    return [Signature(string, (None,))]


def _matching(session: SessionLike, op: Operation, values: Sequence[Any]) -> list[HostArray]:
    patterns = [os.fsdecode(p) for p in np.ravel(values[0])]
    return [np.array([os.fsencode(path) for path in sorted(Glob(patterns))], object)]


define_op("MatchingFiles", _matching_rule, host=_matching, stateful=True, differentiable=False)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The paths of the files that match a pattern, or any of a vector of patterns, when it runs; in sorted order."""
    return add_op("MatchingFiles", [convert_to_tensor(pattern, string)], None, name)


# ---- what is in files ------------------------------------------------------------------------------------------------


def _of_a_path(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    for tensor in inputs:
        if tensor.dims:
            raise ValueError(
                f"Shape must be rank 0 but is rank {len(tensor.dims)}: expected one file and its contents."
            )
    return [Signature(string, ())] if len(inputs) == 1 else []


def _read(session: SessionLike, op: Operation, values: Sequence[Any]) -> list[HostArray]:
    path = os.fsdecode(values[0].item())
    with storage_of(path).open(path, "rb") as file:
        return [filled([file.read()], ())]


def _write(session: SessionLike, op: Operation, values: Sequence[Any]) -> list[HostArray]:
    path = os.fsdecode(values[0].item())
    storage_of(path).make_folder(os.path.dirname(path) or ".", parents=True)
    with storage_of(path).open(path, "wb") as file:
        file.write(values[1].item())
    return []


define_op("ReadFile", _of_a_path, host=_read, stateful=True, differentiable=False)
define_op("WriteFile", _of_a_path, host=_write, stateful=True, differentiable=False)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The contents of a file when it runs, a scalar string. Raises NotFoundError and its like."""
    return add_op("ReadFile", [convert_to_tensor(filename, string)], None, name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation | None:
    """The operation that writes a scalar string to a file, and makes the folders that are missing.

    Under eager execution it runs at once, and this is None.
    """
    graph = get_default_graph()
    inputs = [convert_to_tensor(filename, string), convert_to_tensor(contents, string)]
    op = graph.add("WriteFile", inputs, {}, name)
    return None if graph.executing_eagerly else op
