"""``control_flow_ops.switch`` and ``merge``: branches as programs wrote them before ``tf.cond``.

A ``Switch`` has no lowering. ``merge`` finds the operations between the switches and its inputs, copies them into the
branches of a ``case``, and computes each predicate from the switches':

    f, t = switch(x, p)                    case p:        x * 2., number 1
    y, number = merge([f + 1., t * 2.])    case not p:    x + 1., number 0

Results of ``switch`` that reach no ``merge`` raise when they are run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.operation_copying import Copying, path_from
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import Array, DTypeLike, int32
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.control.branches import case


def _lower_switch(lowering: Lowering, op: Operation) -> Sequence[Array]:
    raise UnsupportedError(
        f"{op.name} (type Switch, created at {op.line}) is used other than through control_flow_ops.merge: one of its "
        "two results has no value. Join what is computed from them by control_flow_ops.merge, or use tf.cond."
    )


define_op("Switch", lambda inputs, attrs: [Signature(inputs[0].dtype, inputs[0].dims)] * 2, lower=_lower_switch)


def _refuse_eager(description: str) -> None:
    if get_default_graph().executing_eagerly:
        raise RuntimeError(f"{description} is not supported when eager execution is enabled. Use Python's `if`.")


def add_switch(
    data: TensorLike, pred: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """``data`` for two branches, of which one runs: (value for a false ``pred``, value for a true one).

    Tensors computed from them have a value where ``merge`` joins them.

    Args:
      data: a tensor, or a value that can be converted.
      pred: a scalar bool tensor.
      dtype: of ``data`` where that is no tensor.
      name: of the operation; by default "Switch".
    """
    _refuse_eager("control_flow_ops.switch")
    with get_default_graph().name_scope(name or "Switch") as scope:
        data, pred = convert_to_tensor(data, dtype, name="data"), convert_to_tensor(pred, name="pred")
        if_false, if_true = get_default_graph().add("Switch", [data, pred], name=scope).outputs
        return if_false, if_true


def add_merge(inputs: Sequence[TensorLike], name: str | None = None) -> tuple[Tensor, Tensor]:
    """(the first input whose branch of ``switch`` runs, its number); the other inputs are not computed.

    Raises:
      ValueError: an input is None, or is not computed from a result of ``switch``.
      RuntimeError: where operations are executed eagerly.
      InvalidArgumentError, when it runs: no branch does.
    """
    _refuse_eager("control_flow_ops.merge")
    if any(value is None for value in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with get_default_graph().name_scope(name or "Merge"):
        tensors = [convert_to_tensor(value) for value in inputs]
        merged, number = case(
            [(_runs(tensor), partial(_compute, tensor, i)) for i, tensor in enumerate(tensors)], name="branches"
        )
        return merged, number


def _path_from_switch(tensor: Tensor) -> list[Operation]:
    """The operations between ``switch`` and a tensor, both ends included."""
    return path_from(tensor, lambda op: op.type == "Switch")


def _runs(tensor: Tensor) -> Tensor:
    """The predicate under which a tensor's branch runs: all its results of ``switch`` have a value."""
    operations = _path_from_switch(tensor)
    switched = {t for op in operations for t in op.inputs if t.op.type == "Switch"}
    switched |= {tensor} if tensor.op.type == "Switch" else set()
    if not switched:
        raise ValueError(
            f"control_flow_ops.merge() of {tensor!r}, which is not computed from a result of control_flow_ops.switch."
        )
    conditions = [
        t.op.inputs[1] if t.value_index == 1 else add_op("LogicalNot", [t.op.inputs[1]])
        for t in sorted(switched, key=lambda t: t.name)
    ]
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = add_op("LogicalAnd", [joined, condition])
    return joined


def _compute(tensor: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """The tensor and its number, computed inside of the branch that is being built."""
    copying = Copying(get_default_graph(), {})
    for op in _path_from_switch(tensor):
        if op.type == "Switch":
            copying.tensors.update(dict.fromkeys(op.outputs, copying.tensors.get(op.inputs[0], op.inputs[0])))
        else:
            copying.copy_beside(op)
    return copying.tensors[tensor], constant(number, int32)
