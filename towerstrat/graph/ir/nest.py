"""Nested structures (pytrees): sequences, namedtuples, dicts, views of dicts and objects of attrs classes.

Everything else is a leaf: None, strings, tensors, dataclasses. Dict entries go in the order of their sorted keys, and a
structure keeps its type when it is packed again:

>>> flatten({"b": [1, 2], "a": (3,)})
[3, 1, 2]
>>> pack_sequence_as({"b": [1, 2], "a": (3,)}, "xyz")
{'b': ['y', 'z'], 'a': ('x',)}

Source: ``tensorflow/python/util/nest.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence
from functools import cache
from typing import Any


def is_sequence(o: Any) -> bool:
    """Whether ``o`` is a structure rather than a leaf."""
    return _is_structure(o.__class__)


@cache
def _is_structure(kind: type) -> bool:
    if issubclass(kind, str | bytes):
        return False
    return issubclass(kind, Sequence | Mapping | MappingView) or hasattr(kind, "__attrs_attrs__")


def _keys(value: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def children(value: Any) -> Iterator[Any]:
    """The entries of a structure (one level), dict entries in the order of their sorted keys."""
    if isinstance(value, Mapping):
        return (value[k] for k in _keys(value))
    if hasattr(value, "__attrs_attrs__"):
        return (getattr(value, field.name) for field in value.__attrs_attrs__)
    return iter(value)


def keys(value: Any) -> list[Any]:
    """The key of each child: a dict's key, an attrs or namedtuple field's name, or an index."""
    if isinstance(value, Mapping):
        return _keys(value)
    if hasattr(value, "__attrs_attrs__"):
        return [field.name for field in value.__attrs_attrs__]
    return list(getattr(value, "_fields", range(len(value))))


def rebuild(like: Any, parts: Iterable[Any]) -> Any:
    """A structure of the type and keys of ``like`` with other children (one level)."""
    if isinstance(like, Mapping):
        by_key = dict(zip(_keys(like), parts, strict=True))
        ordered = ((k, by_key[k]) for k in like)
        if isinstance(like, defaultdict):
            return like.__class__(like.default_factory, ordered)
        return like.__class__(ordered)  # type: ignore[call-arg]
    if hasattr(like, "_fields") or hasattr(like, "__attrs_attrs__"):
        return like.__class__(*parts)
    if isinstance(like, range | MappingView):
        return list(parts)
    return like.__class__(parts)


def flatten(nested: object) -> list[Any]:
    """The leaves, from left to right; ``[x]`` for a leaf x."""
    if not is_sequence(nested):
        return [nested]
    result: list[Any] = []
    for child in children(nested):
        if is_sequence(child):
            result += flatten(child)
        else:
            result.append(child)
    return result


def packed(structure: object, leaves: Iterator[Any]) -> Any:
    """A structure like ``structure`` with the next leaves in the place of its own."""
    if not is_sequence(structure):
        return next(leaves)
    return rebuild(structure, [packed(child, leaves) for child in children(structure)])


def pack_sequence_as(structure: object, flat_sequence: Iterable[Any]) -> Any:
    """A structure like ``structure`` with other leaves. Raises ValueError where their numbers differ."""
    flat = list(flat_sequence)
    expected = len(flatten(structure))
    if expected != len(flat):
        raise ValueError(f"Expected {expected} leaves for the structure {structure!r}, got {len(flat)}.")
    return packed(structure, iter(flat))


def _same_type(one: type, two: type) -> bool:
    """Whether types are one, or namedtuples of equal names and fields, wherever they were defined."""
    fields = getattr(one, "_fields", None)
    return one is two or (
        fields is not None and fields == getattr(two, "_fields", None) and one.__name__ == two.__name__
    )


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raises ValueError where the structures differ, TypeError where only their types do."""
    if is_sequence(nest1) != is_sequence(nest2):
        raise ValueError(f"The two structures don't have the same nested structure: {nest1!r} and {nest2!r}.")
    if not is_sequence(nest1):
        return
    mappings = isinstance(nest1, Mapping) and isinstance(nest2, Mapping)
    if check_types and not mappings and not _same_type(nest1.__class__, nest2.__class__):
        raise TypeError(f"The two structures differ in type: {type(nest1).__name__} and {type(nest2).__name__}.")
    if mappings and set(nest1) != set(nest2):
        raise ValueError(f"The two dicts have different keys: {sorted(nest1)} and {sorted(nest2)}.")
    one, two = list(children(nest1)), list(children(nest2))
    if len(one) != len(two):
        raise ValueError(f"The two structures have different lengths: {nest1!r} and {nest2!r}.")
    for a, b in zip(one, two, strict=True):
        assert_same_structure(a, b, check_types)


def map_structure(func: Callable[..., Any], *structure: object, check_types: bool = True) -> Any:
    """``func`` applied to corresponding leaves, in the form of the first structure."""
    if not structure:
        raise ValueError("Must provide at least one structure.")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    results = [func(*leaves) for leaves in zip(*(flatten(s) for s in structure), strict=True)]
    return pack_sequence_as(structure[0], results)


def flatten_up_to(shallow_tree: Any, input_tree: object) -> list[Any]:
    """The subtrees of ``input_tree`` at the leaves of ``shallow_tree``.

    Raises:
      TypeError: ``input_tree`` is a leaf where ``shallow_tree`` is none.
      ValueError: the two differ in length.
    """
    if not is_sequence(shallow_tree):
        return [input_tree]
    if not is_sequence(input_tree):
        raise TypeError(f"Expected a structure like {shallow_tree!r}, got {input_tree!r}.")
    one, two = list(children(shallow_tree)), list(children(input_tree))
    if len(one) != len(two):
        raise ValueError(f"The structures have different lengths: {shallow_tree!r} and {input_tree!r}.")
    return [leaf for a, b in zip(one, two, strict=True) for leaf in flatten_up_to(a, b)]


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raises TypeError or ValueError where ``input_tree`` is not a structure like ``shallow_tree``, or a deeper one."""
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}."
        )
    expected, actual = shallow_tree.__class__, input_tree.__class__
    if check_types and not isinstance(input_tree, expected) and not _same_type(expected, actual):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{actual}, while shallow structure has type {expected}."
        )
    one, two = list(children(shallow_tree)), list(children(input_tree))
    if len(one) != len(two):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(two)}, while shallow structure has length {len(one)}."
        )
    if check_types and isinstance(shallow_tree, Mapping) and set(shallow_tree) != set(input_tree):
        raise ValueError(
            f"The two structures don't have the same keys. Input structure has keys {list(input_tree)}, while "
            f"shallow structure has keys {list(shallow_tree)}."
        )
    for a, b in zip(one, two, strict=True):
        assert_shallow_structure(a, b, check_types)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """``func`` applied to corresponding subtrees of ``inputs`` at the leaves of ``shallow_tree``, in its form."""
    if not inputs:
        raise ValueError("Cannot map over no sequences.")
    for tree in inputs:
        assert_shallow_structure(shallow_tree, tree)
    corresponding = zip(*(flatten_up_to(shallow_tree, tree) for tree in inputs), strict=True)
    return pack_sequence_as(shallow_tree, [func(*subtrees) for subtrees in corresponding])


def get_traverse_shallow_structure(traverse_fn: Callable[[Any], Any], structure: Any) -> Any:
    """A shallow structure of bools: what ``traverse_fn`` says of each part of ``structure``, from the top down.

    Args:
      traverse_fn: of a part, a bool (of a structure: whether its parts are asked), or bools in the structure of the
        part, one level deep.
      structure: asked as a whole first; a leaf is asked too.

    Raises:
      TypeError: another answer.
    """
    answer = traverse_fn(structure)
    if not is_sequence(structure):
        if not isinstance(answer, bool):
            raise TypeError(f"traverse_fn returned structure: {answer} for non-structure: {structure}")
        return answer
    if answer is False:
        return False
    parts = list(children(structure))
    if answer is True:
        return rebuild(structure, [get_traverse_shallow_structure(traverse_fn, part) for part in parts])
    if not is_sequence(answer):
        raise TypeError(f"traverse_fn returned a non-bool scalar: {answer} for input: {structure}")
    assert_shallow_structure(answer, structure)
    said = list(children(answer))
    if not all(isinstance(goes_on, bool) for goes_on in said):
        raise TypeError(
            f"traverse_fn didn't return a depth=1 structure of bools.  saw: {answer}  for structure: {structure}"
        )
    pairs = zip(said, parts, strict=True)
    return rebuild(structure, [go and get_traverse_shallow_structure(traverse_fn, part) for go, part in pairs])


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """A dict of leaves: the leaves of each key, with those of its value.

    Raises:
      TypeError: ``dictionary`` is no dict.
      ValueError: a key and a value with different numbers of leaves, or one leaf in two keys.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys_of, values = (flatten(key), flatten(value)) if is_sequence(key) else ([key], [value])
        if len(keys_of) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys_of)} elements, but value had {len(values)} "
                f"elements. Key: {keys_of}, value: {values}."
            )
        for leaf, entry in zip(keys_of, values, strict=True):
            if leaf in flat:
                raise ValueError(f"Could not flatten dictionary: key {leaf} is not unique.")
            flat[leaf] = entry
    return flat


def yield_flat_paths(nest: object) -> Iterator[tuple[Any, ...]]:
    """The path of each leaf from the top, a tuple of keys, fields and indices; ``()`` for a leaf."""
    if not is_sequence(nest):
        yield ()
        return
    for key, child in zip(keys(nest), children(nest), strict=True):
        for path in yield_flat_paths(child):
            yield (key, *path)


def flatten_with_joined_string_paths(structure: object, separator: str = "/") -> list[tuple[str, Any]]:
    """``(path, leaf)`` of each leaf; the path's parts joined by ``separator``."""
    paths = (separator.join(map(str, path)) for path in yield_flat_paths(structure))
    return list(zip(paths, flatten(structure), strict=True))


def map_structure_with_paths(func: Callable[..., Any], *structure: object, **kwargs: Any) -> Any:
    """``func(path, *leaves, **kwargs)`` of corresponding leaves, in the form of the first structure.

    Args:
      func: gets the path of a leaf, its keys joined by slashes, and the leaf of each structure.
      *structure: one or more structures of one form.
      **kwargs: passed on, but for ``check_types``, which says whether types of structures must agree (the default).
    """
    check_types = kwargs.pop("check_types", True)
    if not structure:
        raise ValueError("Must provide at least one structure.")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    paths = (path for path, _ in flatten_with_joined_string_paths(structure[0]))
    corresponding = zip(paths, *(flatten(s) for s in structure), strict=True)
    return pack_sequence_as(structure[0], [func(*entries, **kwargs) for entries in corresponding])
