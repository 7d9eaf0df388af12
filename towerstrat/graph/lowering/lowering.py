"""From operations to JAX: evaluates a list of operations, in order, on JAX values.

The same evaluation serves every executor: under ``jit`` the values are tracers and the result is one program; with
concrete arrays it runs operation by operation.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import FailedPreconditionError, InvalidArgumentError, OpError, UnsupportedError
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, varies, vary
from towerstrat.graph.ir.state import Cell
from towerstrat.graph.ir.types import Array, resource
from towerstrat.graph.lowering.kinds import ByKind, Kinds, at, same, tracing
from towerstrat.graph.lowering.tape import Record

_FOLD_LIMIT = 4096
"""Elements up to which known values are computed by numpy while lowering rather than by the compiled program."""


class NeedsStatic(Exception):
    """An operation needs the value of an input that is not known while lowering."""

    def __init__(self, op: Operation, position: int):
        super().__init__(f"{op.name} needs input {position} while lowering")
        self.op = op
        self.tensor = op.inputs[position]


class NeedsTrips(UnsupportedError):
    """The gradient of a loop needs a bound on the number of its iterations that is not known while lowering."""

    def __init__(self, op: Operation):
        super().__init__(
            f"The gradient of the loop {op.name} (created at {op.line}) needs a bound on its number of iterations: "
            "pass maximum_iterations= to tf.while_loop."
        )
        self.op = op


Pull = Callable[[Sequence[bool], Sequence[Any]], list[Any]]
"""(which inputs are wanted, cotangents of the outputs or None) -> cotangents of the inputs, None for nothing."""


class Executor(Protocol):
    """Runs single operations on concrete arrays, each compiled by itself."""

    def __call__(self, op: Operation, values: Sequence[Array]) -> tuple[list[Array], Pull]:
        """The operation's outputs on these input values, and its gradient there."""


_NOT_CONCRETE = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)
"""What JAX raises where a kernel asks for the value of a tracer."""


def varying_shape(op: Operation) -> UnsupportedError:
    """The error of an operation with a result of unknown size, where everything has to be compiled."""
    return UnsupportedError(
        f"{op.name} (type {op.type}, created at {op.line}) has a result whose shape depends on values; that cannot "
        "be compiled for several towers or steps. Use a form of fixed size (tf.where of three arguments, a mask)."
    )


def uninitialized(cell: Cell, op: Operation) -> FailedPreconditionError:
    """The error of an operation that uses a variable without a value, with the initializer that gives it one."""
    local = op.graph.get_collection("local_variables")
    kind = "local" if any(v.name.rpartition(":")[0] == cell.name for v in local) else "global"
    return FailedPreconditionError(
        None,
        op,
        f"Attempting to use uninitialized value {cell.name}. Run its initializer first, for example "
        f"session.run(tf.{kind}_variables_initializer()).",
    )


def on_host(op: Operation) -> UnsupportedError:
    """The error of an operation that runs on the host, where everything has to be compiled."""
    return UnsupportedError(
        f"{op.name} (type {op.type}, created at {op.line}) runs on the host: it cannot be part of a tower, step, loop "
        "or branch, nor lie on a gradient's path through towers. Call it outside and pass its result in."
    )


def combines_inside(op: Operation) -> UnsupportedError:
    """The error of an operation over all positions inside of one that positions run with shapes of their own."""
    return UnsupportedError(
        f"{op.name} (type {op.type}, created at {op.line}) combines values of all towers inside of a branch, loop or "
        "derivative of a derivative in which shapes differ by tower (an uneven batch): towers would wait for each "
        "other there. Combine outside of it, or use batches of one size (drop_remainder=True)."
    )


class Lowering:
    """One evaluation of operations. Forks share what was computed before them.

    Attributes:
      platform: "cpu", "gpu" or "tpu".
      axis: the named axis the evaluation is mapped over, or None.
      values: tensor -> value (an array, a tracer, or numpy where it is known).
      state: cell -> current value.
      fed: tensor -> value that replaces what its operation makes.
      taped: operations some gradient goes through.
      active: tensors some gradient goes through.
      trips: loop operation -> bound of its trip count, learned by a run of it.
      rules: operation -> its gradient function, where one was given for it.
      differentiated: whether all of this is inside of one operation's ``jax.vjp``. Along an axis every value then
        counts as varying, and what is written is thrown away.
      eager: whether operations run one by one on concrete values.
      executor: what runs single operations, where ``eager``; None: their kernels are called.
      quiet: whether this evaluates again what was evaluated before, so that nothing is printed a second time.
      kinds: the kinds of positions, where some inputs have shapes that differ by position. The values that depend on
        them are ``ByKind``; they are made by ``parts``, one evaluation on top of this one for each kind.
      kind: of such a part, its kind.
      split: the operations that were evaluated once per kind.
    """

    def __init__(
        self,
        platform: str,
        axis: Axis | None = None,
        state: Mapping[Cell, Any] | None = None,
        fed: Mapping[Tensor, Any] | None = None,
        operations: Iterable[Operation] = (),
        trips: Mapping[Operation, int] | None = None,
        parent: Lowering | None = None,
        eager: bool = False,
        executor: Executor | None = None,
    ):
        self.platform = platform
        self.axis = axis
        self.state: dict[Cell, Any] = dict(state or {})
        self.fed: dict[Tensor, Any] = dict(fed or {})
        self.values: dict[Tensor, Any] = dict(self.fed)
        self.trips: Mapping[Operation, int] = trips or {}
        self.parent = parent
        self.records: dict[Operation, Record] = {}
        self.twins: dict[Tensor, Any] = {}
        self.written: set[Cell] = set()
        self.common: dict[Any, Any] = {}
        self.taped: set[Operation] = set()
        self.active: set[Tensor] = set()
        self.rules: dict[Operation, Any] = {}
        self.snapshots: dict[Operation, dict[Cell, Any]] = {}
        self.clock: Iterator[int] = itertools.count() if parent is None else parent.clock
        self.differentiated: bool = parent is not None and parent.differentiated
        self.eager: bool = eager if parent is None else parent.eager
        self.executor: Executor | None = executor if parent is None else parent.executor
        self.quiet: bool = parent is not None and parent.quiet
        self.kinds: Kinds | None = None if parent is None else parent.kinds
        self.kind: int | None = None if parent is None else parent.kind
        self.split: set[Operation] = set() if parent is None else parent.split
        self._parts: list[Lowering] = []
        if parent is not None:
            self.taped, self.active, self.rules = parent.taped, parent.active, parent.rules
        else:
            self._find_paths(operations)

    def _find_paths(self, operations: Iterable[Operation]) -> None:
        for op in operations:
            if "path" in op.attrs:
                self.taped.update(op.attrs["path"])
                self.active.update(op.attrs["active"])
                self.rules.update(op.attrs["rules"])
            for body in op.bodies:
                self._find_paths(body.needed)

    def fork(self, values: Mapping[Tensor, Any] | None = None, state: Mapping[Cell, Any] | None = None) -> Lowering:
        """An evaluation of its own on top of this one: sees its values and state, changes neither."""
        child = Lowering(self.platform, self.axis, {**self.state, **(state or {})}, trips=self.trips, parent=self)
        child.values.update(values or {})
        child.fed = self.fed
        return child

    # ---- values ----------------------------------------------------------------------------------------------

    def value(self, tensor: Tensor) -> Any:
        value = self.of_all_kinds(tensor)
        return value if self.kind is None else at(value, self.kind)

    def of_all_kinds(self, tensor: Tensor) -> Any:
        """The value, a ``ByKind`` where it differs by kind of position."""
        frame: Lowering | None = self
        while frame is not None:
            if tensor in frame.values:
                return frame.values[tensor]
            frame = frame.parent
        raise UnsupportedError(
            f"{tensor!r} (created at {tensor.op.line}) was not computed in this part of the program."
        )

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """What several operations of this evaluation use together, made once."""
        if key not in self.common:
            self.common[key] = make()
        return self.common[key]

    def record(self, op: Operation) -> Record | None:
        return next((frame.records[op] for frame in self._frames() if op in frame.records), None)

    def seen(self, op: Operation) -> dict[Cell, Any]:
        """The state that an operation read when it was evaluated."""
        return next((frame.snapshots[op] for frame in self._frames() if op in frame.snapshots), {})

    def _frames(self) -> Iterator[Lowering]:
        """This evaluation and those that it is on top of, with their parts for its kind."""
        frame: Lowering | None = self
        while frame is not None:
            if self.kind is not None and frame._parts:
                yield frame._parts[self.kind]
            yield frame
            frame = frame.parent

    def invariant(self, tensor: Tensor) -> Any:
        """The value as one that JAX knows to be equal at every position.

        A value on a differentiated path is cast to a varying one; where all it came from is equal everywhere it is
        computed a second time from there, and the compiler merges the two.

        Raises:
          UnsupportedError: the value differs by position.
        """
        value = self.value(tensor)
        if self.axis is None or self.differentiated or not varies(value):
            return value
        if self.kind is None and tensor.op in self.split and not tensor.op.definition.joint:
            owner = next(frame for frame in self._frames() if tensor in frame.values)
            return same(owner.parts[0].invariant(tensor))
        if tensor.varies:
            raise UnsupportedError(
                f"{tensor!r} (created at {tensor.op.line}) differs by {self.axis.name} and cannot be stored or fetched "
                "as one value. Combine it first (distribution.reduce in a merge_call), or unwrap it."
            )
        stack = [tensor]
        while stack:
            op = stack[-1].op
            equal = [t for t in op.inputs if t.dtype is not resource and not t.varies]
            missing = [t for t in equal if t not in self.twins and varies(self.value(t))]
            if missing and stack[-1] not in self.twins:
                stack += missing
                continue
            if stack.pop() not in self.twins:
                twins = self.fork({t: self.invariant(t) for t in equal}, self.seen(op))
                twins.quiet = True
                self.twins.update(zip(op.outputs, twins.evaluate(op), strict=True))
        return self.twins[tensor]

    def static(self, op: Operation, position: int) -> np.ndarray[Any, Any]:
        """The value of an input that must be known while lowering."""
        value = self.value(op.inputs[position])
        if isinstance(value, jax.core.Tracer):
            raise NeedsStatic(op, position)
        return np.asarray(value)

    # ---- state -----------------------------------------------------------------------------------------------

    def read(self, cell: Cell, op: Operation) -> Any:
        if cell not in self.state:
            raise uninitialized(cell, op)
        return self.state[cell]

    def write(self, cell: Cell, value: Any) -> None:
        self.state[cell] = value
        self.written.add(cell)
        for kind, part in enumerate(self._parts):
            part.state[cell] = at(value, kind)

    def key(self, op: Operation) -> Any:
        """The random key of this execution of an operation; moves its counter on."""
        counter = op.counter
        assert counter is not None
        count = self.state[counter]
        seeds = op.attrs.get("seeds", (0, 0))
        stable = zlib.crc32(repr((op.attrs.get("seeds"), op.name if seeds[1] is None else "")).encode())
        data = jnp.stack([jnp.full((), stable, jnp.uint32), jnp.asarray(count, jnp.uint32)])
        key = jax.random.wrap_key_data(data, impl="threefry2x32")
        if op.axis is not None and self.axis is not None:
            key = jax.random.fold_in(key, lax.axis_index(self.axis.name))
        self.write(counter, count + np.uint32(1))
        return key

    def position(self) -> Any:
        """This position's index along the axis (int32)."""
        if self.axis is None:
            return np.zeros((), np.int32)
        return lax.axis_index(self.axis.name).astype(jnp.int32)

    def missing_feed(self, op: Operation) -> Any:
        tensor = op.outputs[0]
        raise InvalidArgumentError(
            None,
            op,
            f"You must feed a value for placeholder tensor '{op.name}' with dtype {tensor.dtype.name} and shape "
            f"{tensor.shape}: session.run(..., feed_dict={{{op.name}: value}}).",
        )

    # ---- evaluation ------------------------------------------------------------------------------------------

    def run(self, operations: Sequence[Operation]) -> None:
        for op in operations:
            self.execute(op)

    def execute(self, op: Operation) -> None:
        """Evaluates one operation; its outputs' values are known afterwards.

        Raises:
          OpError: naming the operation and the user's line, when it cannot be evaluated.
        """
        if self.kinds is not None and self.kind is None and not _combines(op) and self._splits(op):
            self.split.add(op)
            if not op.definition.joint:
                self._execute_by_kind(op)
                return
        if op.reads and (op in self.taped or self.axis is not None):
            self.snapshots[op] = {c: self.state[c] for c in op.reads if c in self.state}
        try:
            if op in self.taped:
                outputs = self._execute_taped(op)
            elif self.differentiated and op in self.rules:
                outputs = self._execute_ruled(op)
            else:
                outputs = self.evaluate(op)
        except (OpError, UnsupportedError, NeedsStatic):
            raise
        except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
            if op.definition.dynamic and isinstance(error, _NOT_CONCRETE):
                raise varying_shape(op) from None
            described = ", ".join(f"{t.dtype.name}{_shape(self.value(t), t)}" for t in op.inputs)
            raise InvalidArgumentError(None, op, f"{error} [inputs: {described}]") from error
        for tensor, value in zip(op.outputs, outputs, strict=True):
            if tensor not in self.fed:
                self.values[tensor] = value

    # ---- kinds of positions ----------------------------------------------------------------------------------

    @property
    def parts(self) -> list[Lowering]:
        """For each kind of position the evaluation of what differs between them."""
        if not self._parts:
            assert self.kinds is not None
            for kind in range(self.kinds.count):
                part = self.fork()
                part.kind = kind
                part.state = {cell: at(value, kind) for cell, value in self.state.items()}
                self._parts.append(part)
        return self._parts

    def joined(self, value: Any) -> Any:
        """A value as one array that differs by position, padded where its shape does."""
        return value if self.kinds is None else self.kinds.joined(value, found=not self.differentiated)

    def even(self, value: Any, holder: Tensor | Cell) -> Any:
        """The values of all kinds that a tensor or cell has, as one.

        Raises:
          UnsupportedError: the shape differs by position.
        """
        if isinstance(value, ByKind) and len(set(value.shapes)) > 1:
            where = f" (created at {holder.op.line})" if isinstance(holder, Tensor) else ""
            shapes = sorted(set(value.shapes))
            raise UnsupportedError(
                f"{holder!r}{where} differs in shape by tower (an uneven batch): {shapes}. It enters or leaves a "
                "branch or loop that combines values of all towers, and has to be of one shape there. Combine outside, "
                "or use batches of one size (drop_remainder=True)."
            )
        return self.joined(value)

    def _splits(self, op: Operation) -> bool:
        """Whether what the operation takes differs by kind of position."""
        if any(isinstance(self.value(t), ByKind) for t in op.inputs if t.dtype is not resource):
            return True
        if any(isinstance(self.state.get(c), ByKind) for c in (*op.reads, *op.writes)):
            return True
        return bool(self.split) and any(step in self.split for step in _steps(op))

    def _execute_by_kind(self, op: Operation) -> None:
        for kind, part in enumerate(self.parts):
            with tracing(kind):
                part.execute(op)
        for tensor in op.outputs:
            if tensor not in self.fed:
                values = [part.values.pop(tensor) for part in self.parts]
                self.values[tensor] = ByKind(values) if tensor.varies else same(values[0])
        self.collect()

    def collect(self) -> None:
        """Takes over what the parts wrote."""
        for cell in {cell: None for part in self.parts for cell in part.written}:
            values = [part.state[cell] for part in self.parts]
            self.write(cell, ByKind(values) if cell.per_position else same(values[0]))
        for part in self.parts:
            part.written.clear()

    # ---- one operation ---------------------------------------------------------------------------------------

    def note(self, op: Operation) -> None:
        """Takes down for gradients that an operation with a gradient function was evaluated elsewhere, on the host."""
        if op in self.taped:
            self.records[op] = Record(next(self.clock), None, (), ())

    def _arguments(self, op: Operation) -> list[Array] | None:
        """The inputs' values, where operations run one by one and the executor can run this one; else None."""
        definition = op.definition
        if self.executor is None or not self.eager or self.differentiated or definition.dynamic or definition.random:
            return None
        if (definition.lower is not None or definition.kernel is None) and definition.numpy is None:
            return None
        if op.bodies or "flag" in op.attrs or not op.inputs:
            return None
        values = [self.value(t) for t in op.inputs]
        arrays = all(isinstance(v, np.ndarray | jax.Array) and not isinstance(v, jax.core.Tracer) for v in values)
        return values if arrays and not any(np.iscomplexobj(v) for v in values) else None

    def evaluate(self, op: Operation) -> Sequence[Any]:
        """The outputs of an operation from the values of its inputs, without a record for gradients."""
        definition = op.definition
        if definition.collective and self.kind is not None:
            raise combines_inside(op)
        values = self._arguments(op)
        if values is not None and self.executor is not None:
            return self.executor(op, values)[0]
        if definition.lower is not None:
            return definition.lower(self, op)
        return self.apply(op, [self.value(t) for t in op.inputs])

    def apply(self, op: Operation, args: Sequence[Any]) -> Sequence[Any]:
        """The kernel's outputs on given input values."""
        definition = op.definition
        attrs = op.arguments
        if definition.numpy is not None and _all_known(args):
            outputs = definition.numpy(*args, **attrs)
            return _as_outputs(op, outputs, np.asarray)
        kernel = definition.kernel
        if kernel is None:
            raise on_host(op)
        args = list(args)
        for position in definition.static:
            if position < len(args):
                args[position] = self.static(op, position)
        if definition.platform:
            attrs["platform"] = self.platform
        if definition.random:
            args.insert(0, self.key(op))
            attrs.pop("seeds", None)
        return _as_outputs(op, kernel(*args, **attrs), lambda x: x)

    def _execute_taped(self, op: Operation) -> Sequence[Any]:
        definition = op.definition
        if definition.backward is not None or op in self.rules:
            self.records[op] = Record(next(self.clock), None, (), ())
            return self.evaluate(op)
        sources = [t for t in dict.fromkeys(op.inputs) if t in self.active]
        results = [t for t in op.outputs if t in self.active]
        if not sources or not results:
            return self.evaluate(op)
        values = self._arguments(op)
        if values is not None and self.executor is not None:
            return self._execute_singly(op, self.executor(op, values), sources, results)
        cells = {t: t.op.attrs["cell"] for t in sources if t.dtype is resource}
        written: list[Cell] = []

        def function(*args: Any) -> tuple[list[Any], Any]:
            given = dict(zip(sources, args, strict=True))
            if definition.lower is None:
                outputs = self.apply(op, [given[t] if t in given else self.value(t) for t in op.inputs])
                changes: list[Any] = []
            else:
                inner = self.fork(
                    {t: v for t, v in given.items() if t not in cells},
                    {cells[t]: v for t, v in given.items() if t in cells},
                )
                inner.differentiated = True
                outputs = definition.lower(inner, op)
                written[:] = inner.written
                changes = [inner.state[cell] for cell in written]
            by_tensor = dict(zip(op.outputs, outputs, strict=True))
            rest = {t.value_index: v for t, v in by_tensor.items() if t not in self.active}
            return [jnp.asarray(by_tensor[t]) for t in results], (rest, changes)

        primals = [self.even(self.read(cells[t], op) if t in cells else self.value(t), t) for t in sources]
        primals = [vary(jnp.asarray(p), self.axis) for p in primals]
        saved_state, saved_written = dict(self.state), set(self.written)
        made, pull, (rest, changes) = jax.vjp(function, *primals, has_aux=True)
        if definition.random:
            self.state, self.written = saved_state, saved_written
            self.write(op.counter, self.state[op.counter] + np.uint32(1))  # type: ignore[arg-type, index]
        for cell, value in self._changes(op, dict(zip(written, changes, strict=True))).items():
            self.write(cell, value)
        self.records[op] = Record(next(self.clock), pull, tuple(sources), tuple(results), tuple(made))
        by_index = dict(rest) | {t.value_index: v for t, v in zip(results, made, strict=True)}
        return [by_index[t.value_index] for t in op.outputs]

    def _execute_singly(
        self, op: Operation, executed: tuple[list[Array], Pull], sources: Sequence[Tensor], results: Sequence[Tensor]
    ) -> Sequence[Any]:
        """Records an operation on a gradient's path that the executor has run."""
        outputs, pull_back = executed
        by_tensor = dict(zip(op.outputs, outputs, strict=True))
        on_path = set(sources)
        wanted = [t in on_path for t in op.inputs]

        def pull(cotangents: Sequence[Any]) -> list[Any]:
            given = dict(zip(results, cotangents, strict=True))
            found = pull_back(wanted, [given.get(t) for t in op.outputs])
            sums: dict[Tensor, Any] = {}
            for tensor, value in zip(op.inputs, found, strict=True):
                if tensor in on_path and value is not None:
                    sums[tensor] = value if tensor not in sums else sums[tensor] + value
            return [sums.get(t) for t in sources]

        primals = tuple(jnp.asarray(by_tensor[t]) for t in results)
        self.records[op] = Record(next(self.clock), pull, tuple(sources), tuple(results), primals)
        return outputs

    def _changes(self, op: Operation, found: dict[Cell, Any]) -> dict[Cell, Any]:
        """What an operation wrote. Where that must be equal everywhere, by a second evaluation without derivatives."""
        if self.axis is None or self.differentiated or all(c.per_position for c in found):
            return found
        plain = self.fork()
        plain.quiet = True
        plain.evaluate(op)
        return {cell: plain.state[cell] for cell in plain.written}

    def _execute_ruled(self, op: Operation) -> Sequence[Any]:
        """An operation with a gradient function of its own, inside of a differentiated loop or branch."""
        rule = self.rules[op]
        wanted = (*op.inputs, *(t for t in rule.block.captures() if t.op is not op))
        sources = [
            t for t in dict.fromkeys(wanted) if t.dtype is not resource and isinstance(self.value(t), jax.core.Tracer)
        ]
        grads = dict(zip(op.inputs, rule.grads, strict=True))

        def forward(*args: Any) -> tuple[Any, Any]:
            outputs = [jnp.asarray(o) for o in self.fork(dict(zip(sources, args, strict=True))).evaluate(op)]
            return outputs, (args, outputs)

        def backward(kept: Any, cotangents: Sequence[Any]) -> tuple[Any, ...]:
            args, outputs = kept
            tensors = (*sources, *op.outputs, *rule.cotangents)
            child = self.fork(dict(zip(tensors, (*args, *outputs, *cotangents), strict=True)))
            child.run(rule.block.needed)
            return tuple(
                vary(jnp.asarray(child.value(g)), self.axis) if isinstance(g := grads.get(t), Tensor) else None
                for t in sources
            )

        function = jax.custom_vjp(lambda *args: forward(*args)[0])
        function.defvjp(forward, backward)
        return function(*(vary(self.value(t), self.axis) for t in sources))


def _combines(op: Operation) -> bool:
    """Whether it is a branch or loop that combines values over the axis, so that all positions run it together."""
    inside = (inner for body in op.bodies for inner in body.needed)
    return not op.definition.joint and any(inner.definition.collective or _combines(inner) for inner in inside)


def _steps(op: Operation) -> Iterator[Operation]:
    """What gradients walk over, in an operation or inside of its bodies."""
    yield from op.attrs.get("path", ())
    for body in op.bodies:
        for inner in body.needed:
            yield from _steps(inner)


def _as_outputs(op: Operation, result: Any, each: Callable[[Any], Any]) -> Sequence[Any]:
    if len(op.outputs) == 1 and not isinstance(result, tuple | list):
        return [each(result)]
    if result is None:
        return []
    return [each(r) for r in result]


def _all_known(args: Sequence[Any]) -> bool:
    return all(isinstance(a, np.ndarray | np.generic) and a.size <= _FOLD_LIMIT for a in args)


def _shape(value: Any, tensor: Tensor) -> Any:
    return list(np.shape(value)) if value is not None and tensor.dtype is not resource else tensor.shape
