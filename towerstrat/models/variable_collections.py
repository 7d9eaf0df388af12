"""Variables by collections and names, as ``tf.contrib.framework`` makes, finds, filters and assigns them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.default_graph import add_to_collection, get_collection
from towerstrat.graph.ir.default_graph import device as on_device
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.scopes.variable_scope import VariableScope, get_variable, get_variable_scope
from towerstrat.graph.variables.variables import (
    GraphKeys,
    Variable,
    VariableAggregation,
    VariableSynchronization,
)

# ---- making ----------------------------------------------------------------------------------------------------


def _untrained(initial_value: Any, collection: str, **kwargs: Any) -> Variable:
    return Variable(initial_value, trainable=False, collections=[collection], **kwargs)


def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Variable:
    """A variable in ``GraphKeys.LOCAL_VARIABLES`` alone, not trainable; arguments as of ``tf.Variable``."""
    return _untrained(
        initial_value, GraphKeys.LOCAL_VARIABLES, validate_shape=validate_shape, use_resource=use_resource, name=name
    )


def global_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Variable:
    """A variable in ``GraphKeys.GLOBAL_VARIABLES`` alone, not trainable; arguments as of ``tf.Variable``."""
    return _untrained(
        initial_value, GraphKeys.GLOBAL_VARIABLES, validate_shape=validate_shape, use_resource=use_resource, name=name
    )


def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """``tf.get_variable`` on a device, with a getter for this call.

    Args:
      collections: each named once; default ``GraphKeys.GLOBAL_VARIABLES``.
      device: as of ``tf.device``.
      custom_getter: called in place of ``tf.get_variable``, with ``reuse`` of the scope beside its arguments.
    """
    getter: Callable[..., Any] = get_variable
    if custom_getter is not None:
        getter = partial(custom_getter, reuse=get_variable_scope().reuse)
    named = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(dict.fromkeys(collections))
    with on_device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=named,
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = float32,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """``variable``, also in ``GraphKeys.GLOBAL_VARIABLES`` and ``GraphKeys.MODEL_VARIABLES``."""
    named = [*(collections or []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(
        name, shape, dtype, initializer, regularizer, trainable, named, caching_device, device, partitioner,
        custom_getter, use_resource, synchronization, aggregation,
    )  # fmt: skip


def add_model_variable(var: Any) -> None:
    """Adds a variable to ``GraphKeys.MODEL_VARIABLES``, once."""
    if not any(var is known for known in get_collection(GraphKeys.MODEL_VARIABLES)):
        add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# ---- finding ---------------------------------------------------------------------------------------------------


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection.

    Args:
      scope: a regular expression that their names begin with, or a ``VariableScope``.
      suffix: a regular expression for the end of their names, before the colon.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = f"{scope or ''}.*{suffix if ':' in suffix else f'{suffix}:'}"
    return get_collection(collection, scope)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """``get_variables`` of ``GraphKeys.MODEL_VARIABLES``."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """``get_variables`` of ``GraphKeys.LOCAL_VARIABLES``."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """``get_variables`` of ``GraphKeys.TRAINABLE_VARIABLES``."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_to_restore(include: Sequence[Any] | None = None, exclude: Sequence[Any] | None = None) -> list[Any]:
    """The global variables in the scopes ``include`` (all by default) that are in none of the scopes ``exclude``."""
    for what, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, list | tuple):
            raise TypeError(f"{what} is provided but is not a list or a tuple.")
    found = get_variables() if include is None else [v for scope in include for v in get_variables(scope)]
    left_out = {id(v) for scope in exclude or () for v in get_variables(scope)}
    return [v for v in found if id(v) not in left_out]


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The global variables whose names end so."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The global variables whose name is ``given_name``, in any scope."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The global variable of that full name. Raises ValueError where there is none."""
    found = get_variables(var_op_name)
    if not found:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for one in found:
        if one.op.name == var_op_name:
            return one
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def get_variable_full_name(var: Any) -> str:
    """The variable's name in checkpoints: a part of a partitioned variable has that of the whole."""
    info = var._get_save_slice_info()
    name: str = info.full_name if info else var.op.name
    return name


def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Iterable[str] | None = None,
    exclude_patterns: Iterable[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """The variables whose names fit one of ``include_patterns`` (None: all), and none of ``exclude_patterns``.

    Args:
      reg_search: whether a pattern may fit anywhere in a name; else only at its beginning.
    """
    fits = re.search if reg_search else re.match

    def fit(name: str, patterns: Iterable[str]) -> bool:
        return any(fits(pattern, name) for pattern in patterns)

    return [
        v
        for v in var_list
        if (include_patterns is None or fit(v.name, include_patterns)) and not fit(v.name, exclude_patterns or ())
    ]


# ---- assigning -------------------------------------------------------------------------------------------------


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Operation, dict[Tensor, Any]]:
    """An operation that assigns values to variables, and what to feed when it runs.

    Args:
      var_names_to_values: full name -> numpy array.

    Raises:
      ValueError: no variable has the name, or several begin with it and none has it.
    """
    feed, assigned = {}, []
    for name, value in var_names_to_values.items():
        found = get_collection(GraphKeys.GLOBAL_VARIABLES, name)
        if not found:
            raise ValueError(f"Variable {name} wasn't found")
        if len(found) > 1:
            found = [v for v in found if v.op.name == name]
            if not found:
                raise ValueError(f"Variable {name} doesn't uniquely identify a variable")
        one = found[0]
        fed = placeholder(one.dtype.base_dtype, one.shape, name=f"placeholder/{one.op.name}")
        assigned.append(one.assign(fed))
        feed[fed] = value.reshape(one.shape.as_list())
    return group(*assigned), feed


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[SessionLike], Any]:
    """``f(session)`` that assigns the values; arguments and errors as of ``assign_from_values``."""
    operation, feed = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feed)


class VariableDeviceChooser:
    """A device function that names one device after the other: the tasks of a job in turn, or one device.

    Args:
      num_tasks: the number of tasks; 0 names no job.
      job_name, device_type, device_index, replica: the parts of the name.
    """

    def __init__(
        self, num_tasks: int = 0, job_name: str = "ps", device_type: str = "CPU", device_index: int = 0,
        replica: int | None = None,
    ):  # fmt: skip
        self._num_tasks = num_tasks
        self._job_name = job_name
        self._replica = replica
        self._device = f"/device:{device_type}:{device_index}"
        self._next_task = 0

    def __call__(self, op: Operation) -> str:
        replica = "" if self._replica is None else f"/replica:{self._replica}"
        if self._num_tasks <= 0:
            return replica + self._device
        task = self._next_task
        self._next_task = (task + 1) % self._num_tasks
        return f"/job:{self._job_name}{replica}/task:{task}{self._device}"
