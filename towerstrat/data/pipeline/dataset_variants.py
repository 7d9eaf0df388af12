"""Datasets as values: scalar variant tensors whose element is a dataset or an iterator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from towerstrat.data.elements.structure import Structure
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.nodes import PASSES, DatasetNode, EagerOpening, IteratorContext
from towerstrat.data.pipeline.table_rows import TablePass
from towerstrat.graph.eager.context import EagerSession
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.types import variant
from towerstrat.graph.runtime.plans.runner import Runner

_PASSES_OVER_DATASETS = "passes over datasets"
"""The count of a session, in saved states."""


@contextmanager
def passes_as_before(session: Runner) -> Iterator[None]:
    """Afterwards as many passes of eager code have begun as before: inside, those of another run are begun again."""
    number, numbers = session.count(_PASSES_OVER_DATASETS), PASSES.by_name()
    try:
        yield
    finally:
        session.set_count(_PASSES_OVER_DATASETS, number)
        PASSES.expect(numbers)


def boxed(value: Any) -> Array:
    """A scalar object array, the value of a variant tensor."""
    array = np.empty((), object)
    array[()] = value
    return array


def opening_of(
    session: Runner, op: Operation, node: DatasetNode, values: Sequence[Array], further: Sequence[Tensor] = ()
) -> IteratorContext:
    """Starts a pass over a pipeline for an operation of the host.

    Args:
      op: the operation; its name and the number of its passes so far seed what is unseeded.
      values: of ``node.inputs()`` and, after those, of the tensors of ``further`` that are not among them.
    """
    given = dict(zip(dict.fromkeys([*node.inputs(), *further]), values, strict=True))
    eager = isinstance(session, EagerSession)
    passes = 1 + session.count(_PASSES_OVER_DATASETS if eager else f"{op.graph.state_scope}{op.name}/passes")
    return (
        EagerOpening(session, node, given, (passes,))
        if eager
        else IteratorContext(session, node, given, (passes, op.index))
    )


class Bound:
    """The element of a dataset's variant tensor: a pipeline with the values of the tensors that it needs."""

    def __init__(self, node: DatasetNode, values: Mapping[Tensor, Array]):
        self.node = node
        self.values = values


class VariantNode(DatasetNode):
    """The pipeline behind a variant tensor, known only when it is opened (TensorFlow's ``_VariantDataset``)."""

    kind = "VariantNode"

    def __init__(self, handle: Tensor, structure: Structure):
        self.handle = handle
        self.tensors = (handle,)
        self.structure = structure

    def bound(self, values: Mapping[Tensor, Array]) -> tuple[DatasetNode, Mapping[Tensor, Array]]:
        """The pipeline, and the values of its tensors."""
        found: Bound = values[self.handle].item()
        return found.node, found.values

    def _resolved(self, opening: IteratorContext) -> tuple[DatasetNode, IteratorContext]:
        """The pipeline, and an opening with the values of its tensors."""
        node, values = self.bound(opening.values)
        return node, opening.cached(self, lambda: opening.child(node, values))

    def rows(self, opening: IteratorContext) -> TablePass | None:
        node, inner = self._resolved(opening)
        return node.rows(inner)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        node, inner = self._resolved(opening)
        return node.open(inner)


def reachable_nodes(node: DatasetNode, values: Mapping[Tensor, Array]) -> Iterator[DatasetNode]:
    """A node, its descendants, and those of the pipelines behind variant tensors among them."""
    yield node
    for child in node.children:
        yield from reachable_nodes(child, values)
    if isinstance(node, VariantNode):
        yield from reachable_nodes(*node.bound(values))


def handle_of(node: DatasetNode) -> Tensor:
    """A variant tensor of a pipeline, with the values that its tensors have when the operation runs."""
    return get_default_graph().add("DatasetHandle", node.inputs(), {"node": node}).outputs[0]


def _handle(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    node = op.attrs["node"]
    return [boxed(Bound(node, dict(zip(node.inputs(), values, strict=True))))]


define_op(
    "DatasetHandle", lambda inputs, attrs: [Signature(variant, ())], host=_handle, differentiable=False,
    hidden=("node",),
)  # fmt: skip
