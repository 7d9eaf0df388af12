"""Variables of staged branches and loops: which leaves are carried as tensors, and which must stay the same.

A leaf is carried if it is a tensor, a variable, a number or a composite value (``is_carried``); anything else (strings,
objects, functions) is a constant of the region, and may not differ after it (``same_constant``).

>>> is_carried(1.5), is_carried("adam"), same_constant("adam", "adam")
(True, False, True)

Besides there are here the flags that converted ``break``, ``continue`` and ``return`` set (whose ``not`` is known
inside of their guards), and regions that are built only to look at them (``trial``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CellType
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from towerstrat.graph.autograph.variables import is_missing
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import TypedValue
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Tensor
from towerstrat.graph.ir.shapes import Dimension, TensorShape
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor, is_tensor
from towerstrat.graph.ir.types import bool_, string
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.array.arrays import reshape
from towerstrat.graph.ops.control.regions import is_composite
from towerstrat.platform.threads import ThreadState

Staged: TypeAlias = Tensor | TypedValue
"""A value that is known when the program runs."""
_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)
_CONSTANTS = (str, bytes, TensorShape, Dimension)
RETURN_VALUE = "retval_"
_FLAGS = ("do_return", "break_", "continue_")


def is_staged(value: object) -> TypeGuard[Staged]:
    """Whether a value is known only when the program runs: a tensor or variable, while a graph is being built."""
    if value is None or isinstance(value, bool | int | float | str):
        return False
    if not isinstance(value, Tensor) and (not hasattr(value, "dtype") or not is_tensor(value)):
        return False
    return not get_default_graph().executing_eagerly


def scalar_condition(value: Any, description: str) -> Tensor:
    """A condition as a scalar bool tensor.

    Raises:
      ValueError: it has another type, or more than one element.
    """
    tensor = convert_to_tensor(value)
    if tensor.dtype is not bool_:
        raise ValueError(
            f"The condition of the {description} is expected to be a tf.bool scalar, got {tensor!r} (at {user_line()})."
            " Use tf.cast, a comparison, or `is not None` to ask whether it is there."
        )
    if tensor.dims == ():
        return tensor
    if np.prod([d for d in tensor.dims or () if d is not None]) > 1:
        raise ValueError(
            f"The condition of the {description} is expected to be a tf.bool scalar, got {tensor!r} (at {user_line()})."
            " Use tf.reduce_all or tf.reduce_any."
        )
    return reshape(tensor, ())


def shown(name: str) -> str:
    """A variable's name as messages show it."""
    return "the return value" if name.startswith(RETURN_VALUE) else f"'{name}'"


def is_carried(leaf: object) -> bool:
    """Whether a leaf is carried through a staged branch or loop as tensors; any other must not change in it."""
    if isinstance(leaf, (*_NUMBERS, Tensor)) or is_composite(leaf):
        return True
    return hasattr(leaf, "dtype") and is_tensor(leaf)


def is_number(value: object) -> bool:
    """Whether a value is a Python or numpy number, which becomes a tensor in a staged branch or loop."""
    return isinstance(value, _NUMBERS)


def same_constant(one: object, two: object) -> bool:
    """Whether two leaves that are not carried are the same."""
    return one is two or (isinstance(one, _CONSTANTS) and type(one) is type(two) and one == two)


def placeholder_like(value: object) -> Any:
    """A blank with a value's structure, dtypes and shapes, to be assigned before it is read; None if impossible."""
    leaves = nest.flatten(value)
    if any(is_missing(x) or is_composite(x) for x in leaves):
        return None
    blanks = [_blank(convert_to_tensor(x)) if is_carried(x) else x for x in leaves]
    return nest.pack_sequence_as(value, blanks)


def _blank(tensor: Tensor) -> Tensor:
    dims = tensor.dims
    if dims is not None and None not in dims:
        zero = b"" if tensor.dtype is string else 0
        return constant(zero, tensor.dtype, [d or 0 for d in dims])
    return get_default_graph().add("Blank", (), {"_dtype": tensor.dtype, "_dims": dims}, "Blank").outputs[0]


# ---- flags that break, continue and return set -------------------------------------------------------------------


class _Known(ThreadState):
    """Conditions that hold where operations are made now: those of the branches around."""

    def __init__(self) -> None:
        self.true: list[Tensor] = []


_known = _Known()
_flags: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()


def is_flag(name: str) -> bool:
    """Whether a variable is a flag that the conversion of break, continue or return made."""
    return name.startswith(_FLAGS)


def note_flags(names: Sequence[str], values: Sequence[object]) -> None:
    """Remember which tensors are values of flags."""
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Tensor) and is_flag(name):
            _flags[id(value)] = value


@contextmanager
def known_true(condition: Tensor) -> Iterator[None]:
    _known.true.append(condition)
    try:
        yield
    finally:
        _known.true.pop()


def is_unset_flag(value: object) -> bool:
    """Whether a value is a flag that is False here: statements after a return are below ``if not do_return:``."""
    if _flags.get(id(value)) is not value:
        return False
    return any(c.op.type == "LogicalNot" and c.op.inputs[0] is value for c in _known.true)


# ---- where operations go ---------------------------------------------------------------------------------------


@contextmanager
def keep_effects(graph: Graph) -> Iterator[None]:
    """Keep every operation with an effect in branches and loops that are built inside."""
    saved = graph.keeps_effects
    graph.keeps_effects = True
    try:
        yield
    finally:
        graph.keeps_effects = saved


@contextmanager
def trial(graph: Graph, description: str) -> Iterator[None]:
    """Build operations inside only to look at them: nothing runs them, and collections forget them."""
    sizes = {key: len(graph.get_collection_ref(key)) for key in graph.get_all_collection_keys()}
    try:
        with graph.body(f"a trial of {description} at {user_line()}"):
            yield
    finally:
        for key in graph.get_all_collection_keys():
            del graph.get_collection_ref(key)[sizes.get(key, 0) :]


class ListWatch:
    """Detector of tensors of a region that were appended to Python lists around it."""

    def __init__(self, function: Callable[..., Any]):
        code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None) or ()
        names = zip(code.co_freevars if code else (), cells, strict=True)
        self._lists = [
            (name, elements, len(elements)) for name, cell in names if (elements := _list_in(cell)) is not None
        ]

    def check(self, block: Block, description: str) -> None:
        """Raise ValueError where a list got a tensor that exists in the region only."""
        for name, elements, before in self._lists:
            for item in nest.flatten(elements[before:]):
                if isinstance(item, Tensor) and item._graph is block.graph and block.encloses(item.op.block):
                    raise ValueError(
                        f"'{name}' is a Python list, and {description} at {user_line()} adds {item!r} to it (created "
                        f"at {item.op.line}), which exists only inside. Write it to a tf.TensorArray instead: "
                        f"`{name} = tf.TensorArray(dtype, size)` before, `{name} = {name}.write(i, x)` inside and "
                        f"`{name}.stack()` after it."
                    )


def _list_in(cell: CellType) -> list[Any] | None:
    try:
        return cell.cell_contents if type(cell.cell_contents) is list else None
    except ValueError:
        return None
