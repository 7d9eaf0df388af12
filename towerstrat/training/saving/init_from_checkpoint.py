"""Variables that start from a checkpoint: their initializers read it. Source: ``checkpoint_utils.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.types import string
from towerstrat.graph.scopes.variable_store import store_of
from towerstrat.graph.variables.partitioned import PartitionedVariable
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import logs
from towerstrat.towers.engine import tower_contexts
from towerstrat.training.saving import save_restore_ops  # noqa: F401  (registers what it builds)
from towerstrat.training.saving.checkpoint_reader import CheckpointReader, checkpoint_filename


class _Source(NamedTuple):
    """A checkpoint that variables start from."""

    given: str
    path: str
    reader: CheckpointReader
    shapes: Mapping[str, Sequence[int]]


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Any) -> None:
    """Makes the initializers of variables read a checkpoint. Run them after this.

    Args:
      ckpt_dir_or_file: a checkpoint, or a folder of which the latest is taken.
      assignment_map: name in the checkpoint -> variable, list of parts of one, or its name; or scope in the checkpoint
        -> scope, both with "/" at their ends ("/" alone is all), for the variables of ``get_variable`` in it. A
        dictionary, or pairs.

    Raises:
      ValueError: a name that the checkpoint does not have, another shape, or a scope for a name.

    Example:
      ``tf.train.init_from_checkpoint("/folder", {"encoder/": "model/encoder/", "bias": bias})``
    """
    if tower_contexts.in_tower_context() and get_default_graph().axis is not None:
        tower_contexts.merge_call(lambda distribution: _initialize(ckpt_dir_or_file, assignment_map))
    else:
        _initialize(ckpt_dir_or_file, assignment_map)


def _initialize(ckpt_dir_or_file: str, assignment_map: Any) -> None:
    path = checkpoint_filename(ckpt_dir_or_file)
    reader = CheckpointReader(path)
    source = _Source(ckpt_dir_or_file, path, reader, reader.get_variable_to_shape_map())
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    for saved, current in sorted(pairs, key=lambda pair: str(pair[0])):
        parts = _parts(current)
        if parts:
            if saved not in source.shapes:
                raise ValueError(f"Tensor {saved} is not found in {source.given} checkpoint {dict(source.shapes)}")
            _start_from(source, saved, parts)
        elif isinstance(current, str):
            _start_scope(source, saved, current)
        else:
            raise ValueError(f"Expected a variable, a list of its parts, a name or a scope for {saved}: {current!r}.")


def _parts(current: Any) -> list[Variable]:
    """The variable, or the parts of a partitioned one, that something means; none where it is no name of one."""
    if isinstance(current, Variable):
        return [current]
    if isinstance(current, PartitionedVariable):
        return current._get_variable_list()
    if isinstance(current, list | tuple) and all(isinstance(v, Variable) for v in current):
        return list(current)
    store = store_of(get_default_graph())
    if current in store.variables:
        return [store.variables[current]]
    whole = store.partitioned.get(current)
    return whole._get_variable_list() if whole is not None else []


def _start_scope(source: _Source, saved: str, scope: str) -> None:
    """Starts the variables of a scope from those of one in the checkpoint."""
    inside = scope.rpartition("/")[0]
    if not saved.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {inside} should map to scope only {saved}. Should be 'scope/': "
            "'other_scope/'."
        )
    start = "" if scope == "/" else f"{inside}/" if inside else ""
    for name in sorted(_names_in(start)):
        rest = name.removeprefix(start)
        full = rest if saved == "/" else saved + rest
        if full not in source.shapes:
            raise ValueError(f"Tensor {full} ({rest} in {saved}) is not found in {source.given} checkpoint")
        _start_from(source, full, _parts(name))


def _names_in(start: str) -> Iterable[str]:
    """The names of the variables that begin so; of a partitioned one its own."""
    store = store_of(get_default_graph())
    parts = {part.op.name for whole in store.partitioned.values() for part in whole}
    return {name for name in (*store.variables, *store.partitioned) if name.startswith(start) and name not in parts}


def _start_from(source: _Source, saved: str, parts: Sequence[Variable]) -> None:
    shape = source.shapes[saved]
    for variable in parts:
        info = variable._save_slice_info
        whole = variable.shape if info is None else as_shape(info.full_shape)
        if not whole.is_compatible_with(shape):
            raise ValueError(
                f"Shape of variable {variable.name} ({whole}) doesn't match with shape of tensor {saved} ({shape}) "
                "from checkpoint reader."
            )
        _set_initializer(variable, source.path, saved, "" if info is None else info.spec)
        logs.debug("Initialize variable %s from checkpoint %s with %s", variable.name, source.given, saved)


def _set_initializer(variable: Variable, path: str, name: str, spec: str) -> None:
    graph = get_default_graph()
    with graph.name_scope("checkpoint_initializer") as scope:
        given = [constant(path, string, name="prefix"), constant([name], string, name="tensor_names"),
                 constant([spec], string, name="shape_and_slices")]  # fmt: skip
        (value,) = graph.add("RestoreV2", given, {"dtypes": [variable.dtype.base_dtype]}, scope).outputs
        value.set_shape(variable.shape)
    variable.start_from(value)
