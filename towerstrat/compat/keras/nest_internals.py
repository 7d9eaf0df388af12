"""``tf.__internal__.nest``: structures of tuples, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from towerstrat.graph.ir import nest, nest_v2


def is_mapping(obj: Any) -> bool:
    """Whether a structure is a dictionary."""
    return isinstance(obj, Mapping)


def is_attrs(obj: Any) -> bool:
    """Whether a structure is an instance of a class of the package attrs."""
    return hasattr(type(obj), "__attrs_attrs__")


def sequence_like(instance: Any, args: Any) -> Any:
    """Parts as a structure of the type of another one."""
    return nest.rebuild(instance, list(args))


def list_to_tuple(structure: Any) -> Any:
    """A structure with tuples in the place of its lists."""
    if isinstance(structure, list | tuple):
        parts = [list_to_tuple(each) for each in structure]
        return tuple(parts) if isinstance(structure, list) else nest.rebuild(structure, parts)
    if isinstance(structure, Mapping):
        return nest.rebuild(structure, [list_to_tuple(each) for each in nest.children(structure)])
    return structure


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """The parts of a structure at the places of the leaves of another one.

    Args:
      check_types: whether lists, tuples and dictionaries must be of the same types.
      expand_composites: must be False: composites are leaves here.

    Raises:
      NotImplementedError: see expand_composites. TypeError, ValueError: the second is not as deep as the first.
    """
    _check_leaves(expand_composites)
    nest.assert_shallow_structure(shallow_tree, input_tree, check_types)
    return nest.flatten_up_to(shallow_tree, input_tree)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """``func`` of the parts of structures at the places of the leaves of the first, in a structure like the first.

    Args:
      kwargs: ``check_types`` and ``expand_composites``, as of ``flatten_up_to``.
    """
    parts = [flatten_up_to(shallow_tree, each, **kwargs) for each in inputs]
    results = [func(*each) for each in zip(*parts, strict=True)]
    return nest_v2.pack_sequence_as(shallow_tree, results)


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """As much of a structure as ``traverse_fn`` goes into; its leaves tell whether more is below."""
    _check_leaves(expand_composites)
    return nest.get_traverse_shallow_structure(traverse_fn, structure)


def yield_flat_paths(structure: Any, expand_composites: bool = False) -> Any:
    """The keys that lead to each leaf."""
    _check_leaves(expand_composites)
    return nest.yield_flat_paths(structure)


def _check_leaves(expand_composites: bool) -> None:
    if expand_composites:
        raise NotImplementedError("expand_composites=True is not supported here; tf.nest.flatten takes it.")
