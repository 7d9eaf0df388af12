"""``tf.nest`` of 2.x: nested structures, with composite values flattened into their tensors on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.type_specs import composite_spec


def is_nested(seq: object) -> bool:
    """True for a sequence (but no string), a dict, a view of one or an attrs object; False for a leaf."""
    return nest.is_sequence(seq)


def _parts(leaf: object) -> list[Any]:
    spec = composite_spec(leaf)
    return [leaf] if spec is None else nest.flatten(spec._to_components(leaf))


def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """The leaves from left to right, dict entries in the order of their sorted keys; ``[x]`` for a leaf x.

    Args:
      structure: nested lists, tuples, named tuples, dicts and attrs classes; anything else is a leaf.
      expand_composites: flatten composite values such as IndexedSlices too.
    """
    leaves = nest.flatten(structure)
    return [part for leaf in leaves for part in _parts(leaf)] if expand_composites else leaves


def pack_sequence_as(structure: object, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """A structure like ``structure`` with the leaves ``flat_sequence``: the inverse of ``flatten``.

    Args:
      structure: gives the form; its leaves are not used, except composite ones to expand.
      flat_sequence: the leaves in the order of ``flatten``.
      expand_composites: rebuild composite values of ``structure`` from their tensors.

    Raises:
      TypeError: ``flat_sequence`` is no sequence.
      ValueError: the number of entries is not the structure's number of leaves.
    """
    if not nest.is_sequence(flat_sequence):
        raise TypeError(f"Expected a sequence of leaves for the structure {structure!r}, got {flat_sequence!r}.")
    if not expand_composites:
        return nest.pack_sequence_as(structure, flat_sequence)
    leaves = nest.flatten(structure)
    flat = list(flat_sequence)
    expected = sum(len(_parts(leaf)) for leaf in leaves)
    if len(flat) != expected:
        raise ValueError(f"Expected {expected} leaves for the structure {structure!r}, got {len(flat)}.")
    entries = iter(flat)
    rebuilt = []
    for leaf in leaves:
        spec = composite_spec(leaf)
        if spec is None:
            rebuilt.append(next(entries))
        else:
            like = spec._to_components(leaf)
            rebuilt.append(spec._from_components(nest.pack_sequence_as(like, islice(entries, len(nest.flatten(like))))))
    return nest.pack_sequence_as(structure, rebuilt)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raises where two structures differ in form; leaves are not compared.

    Args:
      nest1: a structure or a leaf.
      nest2: the one to compare it with.
      check_types: types of sequences must agree too (any dict agrees with any other).
      expand_composites: composite leaves must have compatible specifications.

    Raises:
      ValueError: the structures differ in form, or composite leaves in their specifications.
      TypeError: sequences, or composite leaves, differ in type.
    """
    nest.assert_same_structure(nest1, nest2, check_types)
    if expand_composites:
        for one, two in zip(nest.flatten(nest1), nest.flatten(nest2), strict=True):
            specs = composite_spec(one), composite_spec(two)
            if type(specs[0]) is not type(specs[1]):
                raise TypeError(f"The two structures differ in the types of their leaves: {one!r} and {two!r}.")
            if specs[0] is not None and specs[0].most_specific_common_supertype([specs[1]]) is None:
                raise ValueError(f"The two structures have leaves of different kinds: {specs[0]!r} and {specs[1]!r}.")


def map_structure(func: Callable[..., Any], *structure: object, **kwargs: Any) -> Any:
    """``func`` applied to corresponding leaves of structures of one form, in the form of the first.

    Args:
      func: takes one leaf of each structure.
      *structure: one or more structures of one form.
      **kwargs: the keywords below; others are refused.
      check_types: types of sequences must agree too; True by default.
      expand_composites: apply it to the tensors of composite values.

    Raises:
      TypeError: ``func`` cannot be called, or types differ.
      ValueError: no structure, structures of different forms, or another keyword.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r}.")
    if not structure:
        raise ValueError("Must provide at least one structure.")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(f"Expected the keywords check_types and expand_composites, got {', '.join(kwargs)}.")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand_composites)
    columns = zip(*(flatten(s, expand_composites) for s in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in columns], expand_composites)
