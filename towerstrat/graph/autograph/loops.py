"""``while`` statements, and the staged loop that ``for`` statements become too.

The condition decides at the first iteration: a Python value runs a Python loop, a tensor a ``tf.while_loop``. Its loop
variables are the leaves of the variables that the statements assign:

    while x < n:                         variables: names ("x", "s"), get() -> (x, [a, b]), set((x, [a, b]))
        x, s = x + 1, [s[1], s[0]]       carried: x, a, b          constant leaves (strings) must stay the same

Staging has three parts. ``_Start`` fills in variables that have no value before the loop: the body is built once as a
trial, to see their shapes and types, and blanks stand for them; if a value exists only after an iteration, a bool is
carried along and an assertion demands that there was one. ``_Loop`` packs variables to loop variables and back, and
checks each iteration's structure, dtypes and shapes against those of the entry. ``ListWatch`` finds tensors that the
body appends to Python lists.

Afterwards the variables hold their final values; after an exception those from before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from towerstrat.errors import UnsupportedError
from towerstrat.graph.autograph.values import (
    ListWatch,
    is_carried,
    is_staged,
    keep_effects,
    note_flags,
    placeholder_like,
    same_constant,
    scalar_condition,
    shown,
    trial,
)
from towerstrat.graph.autograph.variables import UndefinedReturnValue, is_missing
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.argument_types import TensorLike
from towerstrat.graph.ir.composite_values import Composite
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dims, TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.control.regions import is_composite
from towerstrat.graph.ops.control.while_loop import while_loop
from towerstrat.graph.ops.host.runtime_checks import Assert

State: TypeAlias = tuple[object, ...]
"""Values of the program's variables."""


class Variables(NamedTuple):
    """The variables that a loop's statements assign.

    Attributes:
      get, set: read and write their values.
      names: their names in the program.
      options: the arguments of ``set_loop_options``.
    """

    get: Callable[[], State]
    set: Callable[[State], None]
    names: tuple[str, ...]
    options: Mapping[str, Any]

    def with_hidden(self, name: str, get: Callable[[], object], set: Callable[[Any], None]) -> Variables:
        """These variables and, as the first, one that the loop itself needs, such as its index."""

        def set_all(state: State) -> None:
            set(state[0])
            self.set(state[1:])

        return Variables(lambda: (get(), *self.get()), set_all, (name, *self.names), self.options)


def while_stmt(
    test: Callable[[], object],
    body: Callable[[], object],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    symbol_names: tuple[str, ...],
    opts: Mapping[str, Any],
) -> None:
    """Run a ``while`` statement; it is staged if the condition is a tensor at the first iteration."""
    graph = get_default_graph()
    if graph.executing_eagerly:
        while test():
            body()
        return
    with trial(graph, "the condition of the while loop"):
        first = test()
    if is_staged(first):
        staged_while(test, body, Variables(get_state, set_state, symbol_names, opts), "while loop")
        return
    goes_on = first
    while goes_on:
        body()
        goes_on = python_condition(
            test(), "The condition of this while loop was a Python value first and is a tensor now"
        )


def python_condition(value: object, description: str) -> bool:
    """The condition of a Python loop. Raises UnsupportedError where it is a tensor."""
    if is_staged(value):
        raise UnsupportedError(
            f"{description} ({value!r}, at {user_line()}): a variable changed its type, or a break or return depends "
            "on a tensor. Make it a loop over tensors from the start: iterate over tf.range, or begin with tf.constant."
        )
    return bool(value)


def staged_while(
    test: Callable[[], object],
    body: Callable[[], object],
    variables: Variables,
    description: str,
    statements: Callable[..., object] | None = None,
) -> None:
    """Build a loop whose condition is a tensor; afterwards the variables hold their final values.

    Args:
      test: evaluates the condition, a scalar bool tensor, on the variables as they are.
      body: runs an iteration, which reads and assigns the variables.
      variables: those that the loop assigns, and the options of ``set_loop_options``.
      description: name of the loop in messages.
      statements: the part of the body that the user wrote, where that is not all.

    Raises:
      ValueError: a variable has no value, or None, before the loop or after an iteration, or another shape.
      TypeError: it has another structure or type after an iteration.
    """
    graph = get_default_graph()
    with keep_effects(graph):
        started = variables.get()
        start = _Start(graph, body, variables, description)
        loop = _Loop(graph, variables, start, description)
        watched = ListWatch(statements or body)

        def condition(*values: object) -> Tensor:
            variables.set(loop.unpack(values))
            return scalar_condition(test(), description)

        def step(*values: object) -> list[Tensor | Composite]:
            entry = loop.unpack(values)
            variables.set(entry)
            body()
            watched.check(graph.block, f"the body of the {description}")
            return loop.pack(entry, variables.get())

        try:
            final = while_loop(condition, step, loop.carried, return_same_structure=True, **loop.options())
        except Exception:
            variables.set(started)
            raise
        final = final if isinstance(final, list) else [final]
        variables.set(start.assert_ran(final[0], loop.unpack(final)))


class _Start:
    """The variables before the loop, with blanks for those that the loop assigns first.

    Attributes:
      state: the values. late: which of them are blanks.
      ran: whether the loop carries a bool for "an iteration has run", since a variable has a value only after one.
    """

    def __init__(self, graph: Graph, body: Callable[[], object], variables: Variables, description: str):
        self.names = variables.names
        self.state = variables.get()
        self.late = [v is None or is_missing(v) for v in self.state]
        self.ran = False
        if not any(self.late):
            return
        assigned, trouble = _trial(graph, body, variables, description)
        values = []
        for name, value, after, late in zip(self.names, self.state, assigned, self.late, strict=True):
            blank = placeholder_like(after) if late and not is_missing(after) else None
            # A return that no iteration comes to: its condition is a Python value.
            stays = isinstance(value, UndefinedReturnValue) and after is value and trouble is None
            if late and blank is None and not stays and not (value is None and after is None):
                self._refuse(name, value, description, trouble)
            values.append(blank if late and not stays else value)
        self.late = [late and value is not None for late, value in zip(self.late, values, strict=True)]
        returns = [isinstance(v, UndefinedReturnValue) for v in self.state]
        self.ran = any(late and not r for late, r in zip(self.late, returns, strict=True))
        self.state = tuple(values)

    def _refuse(self, name: str, value: object, description: str, trouble: Exception | None) -> None:
        note = (
            f"\nWhat it would be cannot be told from the body: {type(trouble).__name__}: {trouble}" if trouble else ""
        )
        if isinstance(value, UndefinedReturnValue):
            raise UnsupportedError(
                f"A return statement cannot be placed in the {description} at {user_line()}.{note}"
            ) from trouble
        wrong = "is not allowed to be None" if value is None else "must be defined"
        raise ValueError(f"{shown(name)} {wrong} before the {description} at {user_line()}.{note}") from trouble

    def assert_ran(self, ran: Tensor, values: State) -> State:
        """The final values; those that only an iteration gives come with an assertion that there was one."""
        if not self.ran:
            return values
        names = ", ".join(shown(n) for n, late in zip(self.names, self.late, strict=True) if late)
        message = f"The loop at {user_line()} must iterate at least once to initialize {names}."
        with get_default_graph().control_dependencies([Assert(ran, [message])]):
            return tuple(
                nest.map_structure(lambda v: identity(v) if isinstance(v, Tensor) else v, value) if late else value
                for value, late in zip(values, self.late, strict=True)
            )


def _trial(
    graph: Graph, body: Callable[[], object], variables: Variables, description: str
) -> tuple[State, Exception | None]:
    """Build the body once and drop it: return the variables after it, and the exception that it raised, if any."""
    before = variables.get()
    try:
        with trial(graph, f"the body of the {description}"):
            variables.set(nest.pack_sequence_as(before, [_symbolic(graph, v) for v in nest.flatten(before)]))
            body()
            return variables.get(), None
    except (UnboundLocalError, TypeError, ValueError, KeyError) as error:
        return before, error
    finally:
        variables.set(before)


def _symbolic(graph: Graph, leaf: Any) -> object:
    """A tensor of unknown value, as a loop variable is."""
    if not is_carried(leaf) or is_composite(leaf):
        return leaf
    tensor = convert_to_tensor(leaf)
    return graph.add("LoopVariable", (), {"_dtype": tensor.dtype, "_dims": tensor.dims}, "Variable").outputs[0]


class _Loop:
    """The loop variables of a staged loop: the carried leaves of the statements' variables."""

    def __init__(self, graph: Graph, variables: Variables, start: _Start, description: str):
        self.names = variables.names
        self.given = variables.options
        self.what = description
        self.ran = start.ran
        self.state = start.state
        self.leaves = [[*nest.flatten(v)] for v in self.state]
        self.invariants = self._invariants(variables.get(), start.late)
        self.carried: list[Tensor | Composite] = [convert_to_tensor(False)] if self.ran else []
        for leaves in self.leaves:
            self.carried += [_as_loop_variable(leaf) for leaf in leaves if is_carried(leaf)]
        self.idle = not self.carried
        if self.idle:
            self.carried = [convert_to_tensor(0)]

    def _invariants(self, before: State, late: Sequence[bool]) -> list[list[TensorShape | None]]:
        """For each leaf the shape invariant that the user gave, or None."""
        requested = {id(value): shape for value, shape in self.given.get("shape_invariants", ())}
        invariants: list[list[TensorShape | None]] = []
        for name, value, leaves in zip(self.names, before, self.leaves, strict=True):
            shape = requested.get(id(value))
            if shape is None:
                invariants.append([None] * len(leaves))
                continue
            shapes = [shape] if len(leaves) == 1 and not nest.is_sequence(value) else nest.flatten_up_to(value, shape)
            if len(shapes) != len(leaves):
                raise TypeError(f"{shown(name)} does not have the structure of its shape invariant {shape!r}.")
            invariants.append([as_shape(s) for s in shapes])
        return invariants

    def options(self) -> dict[str, Any]:
        """Further arguments for ``tf.while_loop``."""
        kinds = ("maximum_iterations", "parallel_iterations", "swap_memory")
        chosen = {k: v for k, v in self.given.items() if k in kinds}
        pairs = [pair for two in zip(self.leaves, self.invariants, strict=True) for pair in zip(*two, strict=True)]
        invariants = [invariant for leaf, invariant in pairs if is_carried(leaf)]
        if any(invariant is not None for invariant in invariants):
            known: list[Any] = [getattr(leaf, "shape", TensorShape(None)) for leaf in self.carried]
            leading = known[: len(known) - len(invariants)]
            chosen["shape_invariants"] = leading + [
                k if g is None else g for k, g in zip(known[len(leading) :], invariants, strict=True)
            ]
        return chosen

    def unpack(self, values: Sequence[object]) -> State:
        """Loop variables -> values of the variables."""
        remaining = iter(values[self.ran :])
        state = []
        for value, leaves in zip(self.state, self.leaves, strict=True):
            state.append(nest.pack_sequence_as(value, [next(remaining) if is_carried(x) else x for x in leaves]))
        note_flags(self.names, state)
        return tuple(state)

    def pack(self, entry: State, after: State) -> list[Tensor | Composite]:
        """Values of the variables after an iteration -> loop variables, checked against those at its entry."""
        result: list[Tensor | Composite] = [convert_to_tensor(True)] if self.ran else []
        for name, first, one, two, invariants in zip(
            self.names, self.leaves, entry, after, self.invariants, strict=True
        ):
            self._check_structure(name, one, two)
            for start, x, y, invariant in zip(first, nest.flatten(one), nest.flatten(two), invariants, strict=True):
                if is_carried(start):
                    result.append(self._check(name, x, y, invariant))
                elif not same_constant(start, y):
                    raise TypeError(
                        f"{shown(name)} is {start!r} before the {self.what} at {user_line()}, but {y!r} after one "
                        "iteration. Only tensors, numbers and structures of them may change; use tf.constant for text."
                    )
        return result if not self.idle else [convert_to_tensor(0)]

    def _check_structure(self, name: str, one: object, two: object) -> None:
        if is_missing(two) and two is not one:
            raise ValueError(
                f"{shown(name)} is not defined at the end of an iteration of the {self.what} at {user_line()}."
            )
        try:
            nest.assert_same_structure(one, two)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{shown(name)} does not have the same nested structure after one iteration of the {self.what} at "
                f"{user_line()}: {error}"
            ) from None

    def _check(self, name: str, x: object, after: Any, invariant: TensorShape | None) -> Tensor | Composite:
        if after is None:
            raise ValueError(f"{shown(name)} is None at the end of an iteration of the {self.what} at {user_line()}.")
        if not is_carried(after):
            raise TypeError(
                f"{shown(name)} is {after!r} after one iteration of the {self.what} at {user_line()}; it may only be a "
                "tensor, a number, or a list, tuple or dict of those."
            )
        y = _as_loop_variable(after)
        if not isinstance(x, Tensor) or not isinstance(y, Tensor):
            return y
        if x.dtype is not y.dtype:
            raise TypeError(
                f"{shown(name)} has dtype {x.dtype.name} before the {self.what} at {user_line()}, but dtype "
                f"{y.dtype.name} after one iteration ({y.name}, created at {y.op.line}). Use tf.cast."
            )
        if invariant is None and not _is_within(y.dims, x.dims):
            raise ValueError(
                f"{shown(name)} has shape {x.shape} before the {self.what} at {user_line()}, but shape {y.shape} after "
                f"one iteration ({y.name}, created at {y.op.line}). Use tf.autograph.experimental.set_loop_options to "
                "set shape invariants."
            )
        if invariant is not None and not _is_within(y.dims, invariant.raw):
            raise ValueError(
                f"{shown(name)} has shape {y.shape} after one iteration of the {self.what} at {user_line()}, which "
                f"does not conform with the shape invariant {invariant}."
            )
        return y


def _as_loop_variable(leaf: TensorLike | Composite) -> Tensor | Composite:
    """A leaf as a loop variable: numbers and variables as tensors."""
    return leaf if isinstance(leaf, Tensor | Composite) else convert_to_tensor(leaf)


def _is_within(dims: Dims, bound: Dims) -> bool:
    """Whether every shape that fits ``dims`` fits ``bound``."""
    if bound is None:
        return True
    if dims is None or len(dims) != len(bound):
        return False
    return all(b is None or d == b for d, b in zip(dims, bound, strict=True))
