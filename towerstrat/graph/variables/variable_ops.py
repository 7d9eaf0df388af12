"""Public functions on variables: the collections of a graph, initializers, and assignments to one.

Collections hold ``Variable`` objects by key; ``global_variables_initializer`` groups the initializers of one. Running
an initializer again gives a new initial value. ``report_uninitialized_variables`` and ``count_up_to`` run on the host:
the one returns strings, the other raises OutOfRangeError at a limit.

Source: ``tensorflow/python/ops/variables.py`` and ``state_ops.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from towerstrat.errors import FailedPreconditionError, OutOfRangeError
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import HostArray, int32, int64, string
from towerstrat.graph.variables.string_variables import type_for
from towerstrat.graph.variables.variables import GraphKeys, Variable


def _names_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    return [Signature(string, (None,))]


def _names(session: SessionLike, op: Operation, values: Sequence[HostArray]) -> list[HostArray]:
    # A varying variable has all its values, or none; shards that do not run the operation have no flag.
    asking = slice(None) if op.axis_indices is None else min(op.axis_indices)
    flags = (np.all(flag[asking]) if np.ndim(flag) else flag for flag in values)
    missing = [name.encode() for name, initialized in zip(op.attrs["names"], flags, strict=True) if not initialized]
    return [np.array(missing, dtype=object)]


def _count_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    cell = inputs[0].op.attrs["cell"]
    if cell.dtype not in (int32, int64) or cell.dims != ():
        raise TypeError(f"Expected an int32 or int64 scalar variable, got {cell.name}: {cell.dtype.name} {cell.dims}.")
    return [Signature(cell.dtype, ())]


def _count(session: SessionLike, op: Operation, values: Sequence[StateVariable]) -> list[HostArray]:
    cell, limit = values[0], op.attrs["limit"]
    now = session.state.get(cell)
    if now is None:
        raise FailedPreconditionError(None, op, f"Attempting to use uninitialized value {cell.name}.")
    count = np.asarray(now)
    if int(count) >= limit:
        raise OutOfRangeError(None, op, f"Variable {cell.name} reached its limit of {limit}.")
    session.state.update({cell: np.asarray(count + 1, count.dtype)})
    return [count]


define_op(
    "UninitializedNames",
    _names_rule,
    host=_names,
    varying=lambda op: [False],
    differentiable=False,
    hidden=("names",),
)
define_op("CountUpTo", _count_rule, host=_count, reads=True, writes=True, stateful=True, differentiable=False)


def global_variables(scope: str | None = None) -> list[Any]:
    """The collection of variables that are shared and saved.

    Args:
      scope: a regular expression that names must match at their start, here and below.
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """The collection of variables that are neither shared nor saved, such as those of metrics."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """The collection of variables that optimizers update by default."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """The collection ``GraphKeys.MODEL_VARIABLES``."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The collection of variables with a moving average."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def all_variables() -> list[Any]:
    """``global_variables`` under its older name."""
    return global_variables()


def variables_initializer(var_list: Iterable[Any], name: str = "init") -> Operation | None:
    """An operation that initializes the variables. Running it again gives them new initial values. None eagerly."""
    if get_default_graph().executing_eagerly:
        return None
    ops = [v.initializer for v in var_list]
    ops = [o.op if isinstance(o, Tensor) else o for o in ops]
    return get_default_graph().add("NoOp", (), None, name, control_inputs=ops)


def global_variables_initializer() -> Operation | None:
    """An operation that initializes all global variables."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation | None:
    """An operation that initializes all local variables."""
    return variables_initializer(local_variables())


def initialize_variables(var_list: Iterable[Any], name: str = "init") -> Operation | None:
    """``variables_initializer`` under its older name."""
    return variables_initializer(var_list, name)


def initialize_all_variables() -> Operation | None:
    """``global_variables_initializer`` under its older name."""
    return global_variables_initializer()


def initialize_local_variables() -> Operation | None:
    """``local_variables_initializer`` under its older name."""
    return local_variables_initializer()


def is_variable_initialized(variable: Any) -> Tensor:
    """A scalar bool tensor: the variable has a value at that point of the run.

    Args:
      variable: a variable, or the tensor that stands for one, as ``graph.get_tensor_by_name(variable.name)`` gives it.
    """
    if isinstance(variable, Tensor):
        cell = variable.op.attrs["cell"]
        return get_default_graph().add(type_for(cell, "VarIsInitializedOp"), [variable]).outputs[0]
    result: Tensor = variable.is_initialized()
    return result


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of the variables without a value, a string tensor ``[n]``.

    Args:
      var_list: the variables to look at; default all global and local ones.
      name: of the operation.
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        flags = [v.is_initialized() for v in var_list]
        names = tuple(v.op.name for v in var_list)
        return graph.add("UninitializedNames", flags, {"names": names}, scope).outputs[0]


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Tensor | None:
    """The ranks of variables; it raises FailedPreconditionError where one has no value. None for no variables."""
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        return None
    graph = get_default_graph()
    ranks = [graph.add("Rank", [v.value()]).outputs[0] for v in var_list]
    return ranks[0] if len(ranks) == 1 else graph.add("Pack", ranks, {"axis": 0}, "stack").outputs[0]


# ---- changing one --------------------------------------------------------------------------------------------------


class Assignable(Protocol):
    """A variable: a ``Variable``, or a value of towers that stands for several."""

    @property
    def handle(self) -> Tensor: ...

    def assign(self, value: TensorLike, *, name: str | None = None) -> Any: ...

    def assign_add(self, delta: TensorLike, *, name: str | None = None) -> Any: ...

    def assign_sub(self, delta: TensorLike, *, name: str | None = None) -> Any: ...

    def scatter(self, kind: str, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Any: ...


def _assignable(ref: Tensor | Assignable, function: str) -> Assignable:
    """``ref`` if it is a variable. Raises TypeError, naming the ``function``, if not."""
    if isinstance(ref, Tensor) or not hasattr(ref, "assign"):
        raise TypeError(f"{function} needs a variable, got {ref!r}.")
    return ref


def assign(
    ref: Tensor | Assignable,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Stores ``value`` in the variable; returns the stored value as a tensor.

    Args:
      ref: a variable.
      value: of its shape; converted to its dtype.
      validate_shape: False lets the value have another shape, where the variable was made with ``validate_shape=False``
        too.
      use_locking: changes nothing, the order of effects is fixed.
      name: of the operation; by default "Assign".
    """
    variable = _assignable(ref, "tf.assign")
    if validate_shape is False and isinstance(variable, Variable):
        inputs = (variable.handle, convert_to_tensor(value, variable.dtype))
        attrs = {"validate_shape": False}
        type = type_for(variable.cell, "AssignVariableOp")
        return get_default_graph().add(type, inputs, attrs, name or "Assign").outputs[0]
    return variable.assign(value, name=name)


def assign_add(
    ref: Tensor | Assignable, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Adds to the variable; returns the new value as a tensor."""
    return _assignable(ref, "tf.assign_add").assign_add(value, name=name)


def assign_sub(
    ref: Tensor | Assignable, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtracts from the variable; returns the new value as a tensor."""
    return _assignable(ref, "tf.assign_sub").assign_sub(value, name=name)


def count_up_to(ref: Tensor | Assignable, limit: int, name: str | None = None) -> Tensor:
    """Increments an integer scalar variable; returns its value before. Runs on the host: not inside towers or loops.

    Raises:
      TypeError: no variable, or not an int32 or int64 scalar.
      OutOfRangeError: from ``Session.run``, where the value has reached ``limit``.
    """
    variable = _assignable(ref, "tf.count_up_to")
    return get_default_graph().add("CountUpTo", (variable.handle,), {"limit": int(limit)}, name).outputs[0]


def _scatter(ref: Tensor | Assignable, kind: str, indices: TensorLike, updates: TensorLike, name: str | None) -> Any:
    variable = _assignable(ref, f"tf.scatter_{kind.lower()}")
    return variable.scatter(kind, indices, updates, name or f"Scatter{kind}")


def scatter_update(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Sets rows: ``ref[indices[i]] = updates[i]``; returns the variable's new value, here and below.

    Args:
      ref: a variable of shape ``[n, *row]``.
      indices: integers of any shape; those out of range are dropped.
      updates: ``[*indices.shape, *row]``, or a scalar.
      use_locking: changes nothing: the order of effects is fixed.
      name: of the operation; by default "ScatterUpdate".
    """
    return _scatter(ref, "Update", indices, updates, name)


def scatter_add(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Adds to rows; updates of a row that is named several times add up."""
    return _scatter(ref, "Add", indices, updates, name)


def scatter_sub(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Subtracts from rows; updates of a row that is named several times add up."""
    return _scatter(ref, "Sub", indices, updates, name)


def scatter_mul(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Multiplies rows."""
    return _scatter(ref, "Mul", indices, updates, name)


def scatter_div(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Divides rows."""
    return _scatter(ref, "Div", indices, updates, name)


def scatter_min(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Sets rows to the element-wise minimum of them and ``updates``."""
    return _scatter(ref, "Min", indices, updates, name)


def scatter_max(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Sets rows to the element-wise maximum of them and ``updates``."""
    return _scatter(ref, "Max", indices, updates, name)


def scatter_nd_update(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Sets slices: ``indices[..., :]`` are the leading indices of the slice that ``updates[...]`` replaces."""
    return _scatter(ref, "NdUpdate", indices, updates, name)


def scatter_nd_add(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Adds to slices; updates of one slice add up."""
    return _scatter(ref, "NdAdd", indices, updates, name)


def scatter_nd_sub(
    ref: Tensor | Assignable,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Any:
    """Subtracts from slices; updates of one slice add up."""
    return _scatter(ref, "NdSub", indices, updates, name)
