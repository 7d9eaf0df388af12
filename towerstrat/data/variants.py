"""Datasets as values: what stands for a dataset, and for an iterator, among the tensors of a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from towerstrat.data.pipeline import Array, EagerOpening, Element, Node, Opening
from towerstrat.data.rows import Rows
from towerstrat.data.structure import Structure
from towerstrat.graph.eager.context import EagerSession
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.registry import Signature, define
from towerstrat.graph.ir.types import variant


def boxed(value: Any) -> Array:
    """An object as the value of a scalar tensor."""
    array = np.empty((), object)
    array[()] = value
    return array


def opening_of(
    session: Any, op: Operation, node: Node, values: Sequence[Array], further: Sequence[Tensor] = ()
) -> Opening:
    """A pass over a pipeline by an operation of the host.

    Args:
      values: of ``node.inputs()`` and, after those, of the tensors of ``further`` that are not among them.
    """
    given = dict(zip(dict.fromkeys([*node.inputs(), *further]), values, strict=True))
    eager = isinstance(session, EagerSession)
    passes = 1 + session.count("passes over datasets" if eager else f"{op.graph.state_scope}{op.name}/passes")
    return EagerOpening(session, given, (passes,)) if eager else Opening(session, given, (passes, op.index))


class _Given:
    """A dataset with the values of the tensors that it needs."""

    def __init__(self, node: Node, values: Mapping[Tensor, Array]):
        self.node = node
        self.values = values


class Handed(Node):
    """The dataset that a handle stands for."""

    def __init__(self, handle: Tensor, structure: Structure):
        self.handle = handle
        self.tensors = (handle,)
        self.structure = structure

    def _given(self, opening: Opening) -> tuple[Node, Opening]:
        given: _Given = opening.values[self.handle].item()
        return given.node, opening.kept(self, lambda: opening.child(given.values))

    def rows(self, opening: Opening) -> Rows | None:
        node, inner = self._given(opening)
        return node.rows(inner)

    def open(self, opening: Opening) -> Iterator[Element]:
        node, inner = self._given(opening)
        return node.open(inner)


def behind(node: Node, values: Mapping[Tensor, Array]) -> Iterator[Node]:
    """A node, those below it, and those behind handles among them."""
    yield node
    for child in node.children:
        yield from behind(child, values)
    if isinstance(node, Handed):
        given: _Given = values[node.handle].item()
        yield from behind(given.node, given.values)


def handle_of(node: Node) -> Tensor:
    """A scalar that stands for a pipeline with the values that its tensors have now."""
    return get_default_graph().add("DatasetHandle", node.inputs(), {"node": node}).outputs[0]


def _handle(session: Any, op: Operation, values: Sequence[Array]) -> list[Array]:
    node = op.attrs["node"]
    return [boxed(_Given(node, dict(zip(node.inputs(), values, strict=True))))]


define(
    "DatasetHandle", lambda inputs, attrs: [Signature(variant, ())], host=_handle, differentiable=False,
    hidden=("node",),
)  # fmt: skip
