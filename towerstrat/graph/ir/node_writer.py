"""Write operations as the original's nodes: one ``NodeDef`` for most, several where the original has several.

Here an operation keeps as an attribute what the original takes as an input: an axis, a permutation, a shape. Such an
attribute becomes a constant below the operation's name. A type that the original does not have, or has in another form,
says in ``OpDef.nodes`` how it is written: ``nodes(writer, op)``. The last node always has the operation's name and its
outputs, so that what uses them does not change.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     total = tf.reduce_sum(tf.placeholder(tf.float32, [2, 3], name="x"), 1)
>>> for node in node_defs(total.op):
...     print(node.op, node.name, list(node.input))
Const Sum/reduction_indices []
Sum Sum ['x', 'Sum/reduction_indices']

Source of the signatures: the original's ``OpDef`` of each type, see ``original_op_defs``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from towerstrat.graph.ir.node_def import NoNodesError, attr_value, attributes, held_attribute, inputs_by_argument
from towerstrat.graph.ir.original_op_defs import NO_DEFAULT, Argument, definition
from towerstrat.graph.ir.types import DType, HostArray, as_dtype
from towerstrat.platform import messages

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph import Graph
    from towerstrat.graph.ir.graph_elements import Operation, Tensor


def node_defs(op: Operation, shapes: bool = False, strict: bool = False) -> list[messages.NodeDef]:
    """The nodes of an operation, each behind those that it takes; the last one has the operation's name.

    Args:
      op: of a graph; its attributes become ``AttrValue`` messages.
      shapes: add the static shapes of the outputs to the last node, as the attribute ``_output_shapes``.
      strict: refuse what has no nodes of the original, instead of showing one node with the inputs that it has here.

    Raises:
      NoNodesError: if ``strict``: the original has no such operation.
    """
    writer = NodeWriter(op)
    try:
        (op.definition.nodes or NodeWriter.write_same)(writer, op)
    except (ValueError, TypeError):  # NoNodesError among them: a description with a checkpoint must not end a training
        if strict:
            raise
        writer = NodeWriter(op)
        writer.write_as_here(op)
    if shapes and op.outputs:
        writer.nodes[-1].attr["_output_shapes"].CopyFrom(attr_value("list(shape)", [t.dims for t in op.outputs]))
    return writer.nodes


def node_def(op: Operation) -> messages.NodeDef:
    """The one node that describes an operation by its own type, as ``Operation.node_def`` gives it."""
    writer = NodeWriter(op)
    try:
        writer.write_same(op)
    except NoNodesError:
        writer.write_as_here(op)
    return writer.nodes[-1]


class NodeWriter:
    """The nodes of one operation.

    Args:
      op: the operation; its device, control inputs and colocation are those of all its nodes but constants.

    Attributes:
      nodes: written so far.
    """

    def __init__(self, op: Operation):
        self._op = op
        self.nodes: list[messages.NodeDef] = []

    def write_same(self, op: Operation, name: str = "") -> str:
        """Write one node of the same type, and constants for inputs of the original that are attributes here.

        Args:
          op: the operation.
          name: the last part of the node's name; empty: it has the operation's.

        Returns:
          The node's name.

        Raises:
          NoNodesError: the original has no such type, or its type has other inputs.
        """
        known = definition(op.type)
        if known is None:
            raise NoNodesError(f"{op.name} (created at {op.line}): the original has no operation type {op.type}.")
        pairs = inputs_by_argument(known, op)
        inputs = [i for argument, tensors in pairs for i in self._inputs(argument, tensors)]
        if not any(a.many for a in known.inputs) and len(inputs) != len(known.inputs):
            raise NoNodesError(
                f"{op.name} (created at {op.line}): {op.type} takes {len(known.inputs)} inputs in the original, "
                f"and {len(inputs)} here."
            )
        return self._add(op.type, inputs, attributes(op), self._name(name))

    def _inputs(self, argument: Argument, tensors: Sequence[Tensor] | None) -> Sequence[str]:
        if tensors is not None:
            return [name_of(t) for t in tensors]
        if argument.name == "reduction_indices" and self._op.attrs["axis"] is None and self._op.inputs[0].dims is None:
            x = self._op.inputs[0]
            rank = self.node("Rank", "Rank", [name_of(x)], T=x.dtype)
            bounds = [self.constant("range/start", 0), rank, self.constant("range/delta", 1)]
            return [self.node("range", "Range", bounds)]
        return [self.constant(argument.name, *held_attribute(self._op, argument))]

    def write_as_here(self, op: Operation) -> None:
        """Write one node of the operation's type with its own inputs, which an original may not read."""
        self._add(op.type, [name_of(t) for t in op.inputs], attributes(op), op.name)

    def node(self, name: str, type: str, inputs: Sequence[str], **attrs: object) -> str:
        """Write a node below the operation's name, or with it where ``name`` is empty; its name.

        Args:
          name: the last part of the node's name.
          type: one that the original has.
          inputs: names of nodes, as ``"x"`` or ``"split:1"``.
          attrs: attributes by the original's names; what is left out has its default.

        Raises:
          KeyError: the type has no such attribute. ValueError: one without a default is left out.
        """
        known = definition(type)
        if known is None:
            raise ValueError(f"The original has no operation type {type}.")
        values: dict[str, messages.AttrValue] = {}
        for key, value in attrs.items():
            values[key] = attr_value(known.attributes[key].kind, value)
        for key, attribute in known.attributes.items():
            if key not in values:
                if attribute.default is NO_DEFAULT:
                    raise ValueError(f"A node of type {type} needs the attribute {key}.")
                values[key] = attr_value(attribute.kind, attribute.default)
        return self._add(type, inputs, values, self._name(name))

    def constant(self, name: str, value: HostArray | Sequence[int] | float, dtype: DType | str = "int32") -> str:
        """Write a constant below the operation's name; its name."""
        kind = as_dtype(dtype)
        array = np.asarray(value, kind.np)
        attrs = {"value": attr_value("tensor", array), "dtype": attr_value("type", kind)}
        node = messages.NodeDef(name=self._name(name), op="Const")
        for key, attr in attrs.items():
            node.attr[key].CopyFrom(attr)
        self.nodes.append(node)
        return str(node.name)

    def _name(self, last: str) -> str:
        """A name below the operation's that the graph does not have; the operation's own for ''."""
        if not last:
            return self._op.name
        full, number = f"{self._op.name}/{last}", 0
        others = self._op.graph.nodes.by_name
        while (name := f"{full}_{number}" if number else full) in others or any(n.name == name for n in self.nodes):
            number += 1
        return name

    def graft(self, graph: Graph, inputs: Mapping[Operation, str], results: Sequence[Tensor]) -> None:
        """Write the operations of a small graph below the operation's name, and an identity of its results.

        Args:
          graph: the graph.
          inputs: its placeholders, each with the node that stands in its place.
          results: the tensors that are the operation's outputs, in order.
        """
        names = {op.name: name for op, name in inputs.items()}

        def renamed(name: str) -> str:
            start = "^" * name.startswith("^")
            head, colon, output = name.removeprefix("^").partition(":")
            return f"{start}{names[head]}{colon}{output}"

        for op in graph.get_operations():
            if op not in inputs:
                for node in node_defs(op):
                    attrs = {key: node.attr[key] for key in node.attr}
                    written = [renamed(i) for i in node.input]
                    names[node.name] = self._add(node.op, written, attrs, self._name(node.name))
        kinds = [t.dtype for t in results]
        self.node(
            "", "Identity" if len(results) == 1 else "IdentityN", [renamed(name_of(t)) for t in results],
            T=kinds[0] if len(results) == 1 else kinds,
        )  # fmt: skip

    def _add(self, type: str, inputs: Sequence[str], attrs: Mapping[str, messages.AttrValue], name: str) -> str:
        control = [f"^{c.name}" for c in self._op.control_inputs]
        node = messages.NodeDef(name=name, op=type, input=[*inputs, *control], device=self._op.device)
        for key, value in attrs.items():
            node.attr[key].CopyFrom(value)
        self.nodes.append(node)
        return name


def identity_nodes(writer: NodeWriter, op: Operation) -> None:
    """The nodes of an operation that passes its input on."""
    writer.node("", "Identity", [name_of(op.inputs[0])], T=op.inputs[0].dtype)


def name_of(tensor: Tensor) -> str:
    """A tensor as the input of a node: the first output of an operation by the operation's name."""
    return tensor.name.removesuffix(":0")
