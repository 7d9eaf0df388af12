"""``tf.contrib.framework.assign_from_checkpoint``: an operation that gives variables the values of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.variables.partitioned import PartitionedVariable
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import logs
from towerstrat.training.saving.checkpoint_reader import CheckpointReader
from towerstrat.training.saving.object_graph import full_name
from towerstrat.training.saving.save_restore_ops import parsed, part_of
from towerstrat.training.saving.saver import Saver


def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Operation, dict[Tensor, Any]]:
    """An operation that assigns the values of a checkpoint to variables, and what to feed when it runs.

    Args:
      model_path: the checkpoint.
      var_list: variables, or a dictionary of variables or lists of parts by their names in the checkpoint.
      ignore_missing_vars: those that it does not have keep their values, which is logged.

    Raises:
      ValueError: a variable is not in the checkpoint, or of another shape there.
    """
    reader = CheckpointReader(model_path)
    feed: dict[Tensor, Any] = {}
    assigned = []
    for name, parts in _grouped(var_list).items():
        if not reader.has_tensor(name):
            if not ignore_missing_vars:
                raise ValueError(f"Checkpoint is missing variable [{name}]")
            logs.warning("Checkpoint is missing variable [%s]", name)
            continue
        value = reader.get_tensor(name)
        for variable in parts:
            info = variable._save_slice_info
            own = part_of(None, name, value, parsed("" if info is None else info.spec))
            if not variable.shape.is_compatible_with(own.shape):
                raise ValueError(
                    f"Total size of new array must be unchanged for {name} lh_shape: [{own.shape}], rh_shape: "
                    f"[{variable.shape}]"
                )
            fed = placeholder(variable.dtype.base_dtype, variable.shape, name=f"placeholder/{variable.op.name}")
            assigned.append(variable.assign(fed))
            feed[fed] = own
    return group(*assigned), feed


def _grouped(var_list: Any) -> dict[str, list[Variable]]:
    """Name in the checkpoint -> variable, or parts of one."""
    found: dict[str, list[Variable]] = {}
    if isinstance(var_list, Mapping):
        for name, given in var_list.items():
            found[name] = list(given) if isinstance(given, list | tuple | PartitionedVariable) else [given]
        return found
    for given in var_list:
        for variable in given if isinstance(given, PartitionedVariable) else [given]:
            found.setdefault(full_name(variable), []).append(variable)
    return found


def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[SessionLike], None] | None:
    """``f(session)`` that restores variables from a checkpoint; None where it has none of them.

    Args:
      model_path: the checkpoint. var_list: variables, or a dictionary of them by their names in the checkpoint.
      ignore_missing_vars: those that it does not have are left out, which is logged.
      reshape_variables: values take the shapes of the variables.

    Raises:
      ValueError: there are no variables.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = CheckpointReader(model_path)
        named = var_list if isinstance(var_list, Mapping) else {v.op.name: v for v in var_list}
        for name in named:
            if not reader.has_tensor(name):
                logs.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: variable for name, variable in named.items() if reader.has_tensor(name)}
    if not var_list:
        logs.warning("No Variables to restore")
        return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
