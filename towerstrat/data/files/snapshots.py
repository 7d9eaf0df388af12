"""``Dataset.save`` and ``Dataset.load``: the elements of a dataset in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from towerstrat.data.elements.structure import Nested, Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.files.element_files import ElementFile, ElementWriter, Shards, described, described_in, restored
from towerstrat.data.iterators.session_iterators import with_operation
from towerstrat.data.pipeline.arguments import structure_of_specs
from towerstrat.data.pipeline.dataset_variants import Bound, boxed, opening_of
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.nodes import DatasetNode, IteratorContext
from towerstrat.data.pipeline.sources import Listed
from towerstrat.errors import InvalidArgumentError, UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.op_registry import define_op, nothing
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import string, variant
from towerstrat.graph.runtime.plans.runner import Runner

_COMPRESSIONS = {None: "", "": "", "NONE": "", "AUTO": "", "GZIP": "GZIP"}


def compression_of(given: Any, what: str) -> str:
    """The compression of files. Raises UnsupportedError for one that is not there."""
    if given not in _COMPRESSIONS:
        raise UnsupportedError(f"{what}(compression={given!r}) is not supported; use None or 'GZIP'.")
    return _COMPRESSIONS[given]


# ---- writing ---------------------------------------------------------------------------------------------------------


def _save(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    path, *given = values
    node, function = op.attrs["node"], op.attrs["function"]
    shards = Shards(os.fsdecode(path.item()), op.attrs["compression"])
    try:
        opening = opening_of(session, op, node, given, () if function is None else function.captures)
        shard_of = (lambda element: [np.int64(0)]) if function is None else function.bind(opening)
        _write(node, opening, shard_of, shards)
    except Exception as error:
        raise with_operation(error, op) from error.__cause__
    return []


def _write(
    node: DatasetNode, opening: IteratorContext, shard_of: Callable[[Element], Sequence[Any]], shards: Shards
) -> None:
    """Writes all elements; the files of an earlier time go when all were written, and stay where one fails."""
    writers: dict[int, ElementWriter] = {}
    with ExitStack() as failed:
        for element in node.open(opening):
            shard = int(shard_of(element)[0])
            if shard < 0:
                raise InvalidArgumentError(None, None, f"shard_func: expected a number from 0 on, got {shard}.")
            if shard not in writers:
                writers[shard] = ElementWriter(shards.path(shard), node.structure, shards.compression)
                failed.callback(writers[shard].discard)
            writers[shard].write(element)
        if not writers:
            writers[0] = ElementWriter(shards.path(0), node.structure, shards.compression)
        failed.pop_all()
    shards.clear()
    for writer in writers.values():
        writer.close()


define_op("SaveDataset", nothing, host=_save, stateful=True, differentiable=False, hidden=("node", "function"))


def saved(
    node: DatasetNode, path: Any, compression: Any, shard_func: Callable[..., Any] | None, checkpoint_args: Any
) -> Any:
    """The operation that writes the elements of a pipeline to a folder; None where it ran at once."""
    if checkpoint_args is not None:
        raise UnsupportedError(
            "Dataset.save(checkpoint_args=...) is not supported; a save that is stopped begins anew."
        )
    described(node.structure)
    graph = get_default_graph()
    function = None if shard_func is None else Function(shard_func, [node.structure], "shard_func", graph)
    captures = () if function is None else function.captures
    inputs = [convert_to_tensor(path, string), *dict.fromkeys([*node.inputs(), *captures])]
    attrs = {"node": node, "function": function, "compression": compression_of(compression, "Dataset.save")}
    op = graph.add("SaveDataset", inputs, attrs)
    return None if graph.executing_eagerly else op


# ---- reading ---------------------------------------------------------------------------------------------------------


class ShardDatasets(DatasetNode):
    """A dataset for each file of elements in a folder."""

    kind = "ShardDatasets"

    def __init__(self, paths: Sequence[str], structure: Structure, compression: str, dataset: Any):
        self.parts = [ElementFile([path], structure, compression) for path in paths]
        self.structure = Structure(None, [variant], [()], [Nested(structure, dataset)])

    def cardinality(self) -> int:
        return len(self.parts)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return Listed([[boxed(Bound(part, {}))] for part in self.parts])


def loaded(
    kind: Any, path: Any, element_spec: Any, compression: Any, reader_func: Callable[[Any], Any] | None
) -> Any:  # fmt: skip
    """The dataset of the elements in a folder.

    Args:
      kind: the class of datasets.
    """
    used = compression_of(compression, "Dataset.load")
    paths = Shards(str(path), used).paths()
    if element_spec is None:
        structure = restored(described_in(paths[0], used))
    else:
        structure = structure_of_specs(element_spec, "element_spec")
    shards = kind._made(ShardDatasets(paths, structure, used, kind))
    if reader_func is not None:
        return reader_func(shards)
    return shards.interleave(lambda shard: shard, len(paths), 1)
