"""The messages of a graph's operations, each made once: a graph is written with every checkpoint, and changes little.

``NodeDefs.of`` gives the ``NodeDef`` messages of an operation. They are made anew only where what they say has changed
since: an operation that took another input, control input, device or attribute, or whose outputs have another static
shape.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x = tf.placeholder(tf.float32, [None], name="x")
>>> nodes = NodeDefs()
>>> first = nodes.of(x.op, shapes=True)
>>> nodes.of(x.op, shapes=True) is first
True
>>> x.set_shape([3])
>>> nodes.of(x.op, shapes=True) is first
False

The comparison is by identity, so that it costs little. What is changed in place (lists among attributes, a variable's
shape) cannot be told so, and its message is made each time; so is that of a large constant, which is not held twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from towerstrat.graph.ir.node_def import COMPUTED_TYPES
from towerstrat.graph.ir.node_writer import node_defs
from towerstrat.platform import messages

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Operation

_MUTABLE = (list, set, dict)
_LARGEST = 1 << 14
"""Bytes of a message that is kept: that of a large constant would hold its values a second time."""


class NodeDefs:
    """Operation -> its message, with what it was made of."""

    def __init__(self) -> None:
        self._messages: dict[tuple[Operation, bool], tuple[list[object], list[messages.NodeDef]]] = {}

    def of(self, op: Operation, shapes: bool) -> list[messages.NodeDef]:
        """The messages of an operation; callers copy them, and do not change them.

        Args:
          op: of the graph.
          shapes: with the static shapes of the outputs, as the attribute ``_output_shapes``.
        """
        said = list(_said(op))
        entry = self._messages.get((op, shapes))
        if entry is not None and _same(entry[0], said):
            return entry[1]
        nodes = node_defs(op, shapes)
        changes_in_place = op.type in COMPUTED_TYPES or any(isinstance(value, _MUTABLE) for value in said)
        if not changes_in_place and sum(node.ByteSize() for node in nodes) <= _LARGEST:
            self._messages[op, shapes] = said, nodes
        return nodes


def _said(op: Operation) -> Iterator[object]:
    """The objects that an operation's message is made of."""
    yield from op.inputs
    yield from op.control_inputs
    yield op.device
    yield from op._colocation
    yield from (tensor.dims for tensor in op.outputs)
    yield from op.attrs
    yield from op.attrs.values()


def _same(before: list[object], now: list[object]) -> bool:
    return len(before) == len(now) and all(a is b for a, b in zip(before, now, strict=True))
