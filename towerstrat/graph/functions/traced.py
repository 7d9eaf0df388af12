"""Calls of a traced function: run as one plan over the eager state, inlined into a graph, or taped.

``Traced`` is a graph with inputs and outputs. A call in a graph copies the operations into it
(``FunctionGraph.inline``). An eager call runs the plan's stages over the eager session's state, like a
``Session.run``; under a tape the plan has a forward program that also returns residuals (``_Derivative``), and where
the function cannot be compiled whole its operations are executed one by one, each recorded by the tape.

A gradient takes two programs, as ``jax.vjp`` outside of ``jit`` would: ``_ForwardStage`` lowers the function, and while
it is being traced traces the backward pass with ``jax.make_jaxpr``. Forward values that this uses become the jaxpr's
constants; they are outputs of the forward program (the residuals) and inputs of the backward program, which is jitted
by itself and runs when the tape asks. The residual of a square is its argument:

>>> from towerstrat.graph.eager import mode
>>> from towerstrat.graph.functions.polymorphic import function
>>> from towerstrat.graph.ir.tensor_conversion import constant
>>> from towerstrat.graph.tapes.gradient_tape import GradientTape
>>> with mode.eager_mode(), GradientTape() as tape:
...     tape.watch(x := constant(3.0))
...     y = function(lambda x: x * x)(x)
>>> float(y), float(tape.gradient(y, x))
(9.0, 6.0)

Residuals that the state store or the caller holds anyway (here x, or a variable) are taken from there, not returned
again (``routes``); the store then lends them, so that no later program donates their buffers. The gradient of a
gradient, for nested tapes, is not made from residuals: ``pull`` is the gradient as a ``Traced`` function of its own,
called over a snapshot of the state from before the call (``_CallRecord._again``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.context import Cotangent, EagerContext, Record
from towerstrat.graph.eager.late import UncheckedTensor
from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.eager.tensor import EagerTensor, Handle
from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis, on_one_device
from towerstrat.graph.ir.state import ERROR_RECORD, StateStore, StateVariable
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.ir.types import Array, DType, string
from towerstrat.graph.lowering.lowering import Lowering
from towerstrat.graph.ops.gradients.gradient_paths import is_additive
from towerstrat.graph.ops.gradients.gradients import gradients_through
from towerstrat.graph.runtime.loops.data_loop_stage import DataLoop
from towerstrat.graph.runtime.plans.plan import ConstantFoldingStage, DeviceStage, Plan
from towerstrat.graph.runtime.plans.runner import EffectFreeStage, Run, Stage
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.placement import mapped_axis
from towerstrat.graph.runtime.programs.program_cache import ProgramInputs
from towerstrat.graph.runtime.sessions.stage_table import plan_of
from towerstrat.platform import compilers
from towerstrat.platform.deferred import jax_extend


class Traced:
    """A function's graph with inputs and outputs, callable eagerly and in graphs.

    Args:
      inputs: placeholders of ``graph``, one per argument.
      outputs: tensors of ``graph``.
      effects: operations that run in each call, whether an output needs them or not.
    """

    def __init__(
        self, graph: FunctionGraph, inputs: Sequence[Tensor], outputs: Sequence[Tensor], effects: Sequence[Operation]
    ):
        self.graph = graph
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.effects = list(effects)
        self.dtypes = [t.dtype for t in outputs]
        self._plan: Plan | None = None
        self._derivatives: dict[tuple[bool, ...], _Derivative | None] = {}
        self._pulls: dict[tuple[tuple[bool, ...], ...], tuple[Traced, list[Cotangent]]] = {}

    @property
    def captures(self) -> list[Tensor]:
        """The outside tensors that it uses, in the order of first use."""
        return list(self.graph.captured)

    def plan(self) -> Plan:
        """The plan that computes its outputs, made on the first call."""
        if self._plan is None:
            fed = [*self.inputs, *self.graph.captured.values()]
            self._plan = plan_of(self.graph, [*self.outputs, *self.effects], fed)
        return self._plan

    def __call__(self, tensors: Sequence[Tensor], late: bool = False) -> list[Tensor]:
        """Call the function in the current graph or eager context; return the outputs.

        Args:
          tensors: one per placeholder; captured tensors are not among them.
          late: whether an eager call may leave its checks to the next one, where it is one loop over data.
        """
        target = get_default_graph()
        if not target.executing_eagerly:
            arguments = {p: target.inside(t) for p, t in zip(self.inputs, tensors, strict=True)}
            return self.graph.inline(self.outputs, arguments, target)
        eager: EagerContext = target  # type: ignore[assignment]
        if eager.tapes.active:
            return self._record_call(eager, tensors)
        return self._execute(eager, tensors, self.plan().stages, late=late and self._is_loop)[0]

    @functools.cached_property
    def _is_loop(self) -> bool:
        """Whether a call is one loop over data on one device, and nothing else that has effects."""
        stages = [
            s
            for s in self.plan().stages
            if not isinstance(s, EffectFreeStage) and not (isinstance(s, ConstantFoldingStage) and s.fixed)
        ]
        return self._axis is None and len(stages) == 1 and isinstance(stages[0], DataLoop)

    # ---- eagerly ---------------------------------------------------------------------------------------------

    def _execute(
        self, eager: EagerContext, tensors: Sequence[Any], stages: Sequence[Stage], store: StateStore | None = None,
        late: bool = False,
    ) -> tuple[list[Tensor], Run]:  # fmt: skip
        """Run stages on eager tensors; return (outputs, run), the run finished unless its checks are late.

        Args:
          eager: the context, in whose session the stages run.
          tensors: eager tensors, one per placeholder.
          stages: of the function's plan, or of one with its derivatives.
          store: the state to run over, if not the eager session's.
          late: see ``Runner.execute_plan``.
        """
        fed: dict[Tensor, Any] = {p: t.array for p, t in zip(self.inputs, tensors, strict=True)}
        for outer, inner in self.graph.captured.items():
            fed[inner] = outer.array  # type: ignore[attr-defined]
        session = eager.session
        copies = self.graph.copies if store is None else {}

        def read(run: Run) -> tuple[list[Tensor], Run]:
            if late:
                values = [_array(self.plan().value(t, run)) for t in self.outputs]
                return [UncheckedTensor(eager, v, d, run) for v, d in zip(values, self.dtypes, strict=True)], run
            return [self._output(eager, run, t, d) for t, d in zip(self.outputs, self.dtypes, strict=True)], run

        with session.lock, jax.enable_x64(True), eager.standing_in(copies):
            return session.execute_plan(stages, fed, read, store, late)

    def _output(self, eager: EagerContext, run: Run, tensor: Tensor, dtype: DType) -> Tensor:
        axis = self._axis
        source, position = self.plan().indexed_fetches.get(tensor, (tensor, None))
        value = run.values[source]
        if axis is None:
            return EagerTensor(eager, _array(value), dtype)
        if not source.varies:
            return EagerTensor(eager, on_one_device(_array(value)), dtype)
        sharded = ShardedTensor(eager, _by_position(value, dtype, axis), dtype, axis, source.dims)
        return sharded if position is None else sharded.part(position)

    @functools.cached_property
    def _axis(self) -> Axis | None:
        """The mesh axis along which an operation of it runs or an output varies, or None."""
        return mapped_axis([*self.plan().order, *(t.op for t in self.outputs)])

    def _record_call(
        self, eager: EagerContext, tensors: Sequence[Any], store: StateStore | None = None
    ) -> list[Tensor]:
        """Call the function as one operation on the tapes; where parts of it run on the host, operation by operation.

        Raises:
          UnsupportedError: it runs along an axis of several replicas and a tape follows one of its inputs.
        """
        for tape in eager.tapes.active:
            for handle in self._trainable:
                tape.access(handle)
        outside: list[Tensor] = [*tensors, *self.graph.captured, *self.graph.handles]
        inside = [*self.inputs, *self.graph.captured.values(), *self.graph.handles.values()]
        active = tuple([any(tape.follows((t,)) for tape in eager.tapes.active) for t in outside])
        if not any(active):
            return self._execute(eager, tensors, self.plan().stages, store)[0]
        if self._axis is not None and self._axis.size > 1:
            raise UnsupportedError(
                f"A GradientTape around {self.graph.what}, which runs on several replicas, would need the gradient of "
                "all of them. Take the gradient inside of the function that strategy.run calls, or put the tape into a "
                "tf.function together with strategy.run."
            )
        derivative = self._derivative(active, inside)
        nested = len(eager.tapes.active) > 1
        # A gradient function that is not linear is called once, with the sum of the cotangents of all tapes.
        if derivative is None or (nested and not derivative.adds_up):
            arguments = dict(zip(self.inputs, tensors, strict=True))
            return self.graph.inline(self.outputs, arguments, eager)
        # Only an outer tape can ask for the gradient of this call's gradient, which needs the state as it was.
        before = self._snapshot(eager, store) if store is not None or nested else None
        try:
            outputs, run = self._execute(eager, tensors, derivative.stages, store)
        except _OneByOne:
            # Raised while the program is traced, before anything ran: start over.
            self._derivatives[active] = None
            return self._record_call(eager, tensors, store)
        if derivative.grad is not None:
            residuals = run.kept[derivative]
            eager.record(_CallRecord(self, eager, derivative, outside, outputs, residuals, active, before))
        return outputs

    def over(self, eager: EagerContext, tensors: Sequence[Any], store: StateStore) -> list[Tensor]:
        """Call the function over the state in ``store`` instead of the eager session's; its writes are dropped."""
        return self._record_call(eager, tensors, self._snapshot(eager, store))

    @functools.cached_property
    def _trainable(self) -> list[Handle]:
        """The outside handles of the trainable variables that it reads."""
        read = [self.graph.outside_of[h] for h, v in self.graph.variables_read(lambda op: True) if v.trainable]
        return [h for h in read if isinstance(h, Handle)]

    def _snapshot(self, eager: EagerContext, store: StateStore | None = None) -> StateStore:
        """A copy of the state that the function uses, from a store or (None) from the eager session.

        The arrays are marked as shared in both stores, so that no program donates them.
        """
        source, copy = eager.session.state if store is None else store, StateStore()
        cells = [h.cell for h in self.graph.handles if isinstance(h, Handle)]
        cells += [op.counter for op in self.graph.carried_out() if op.counter is not None]
        with eager.standing_in(self.graph.copies if store is None else {}):
            for cell in [*cells, *self.graph.copies.values()]:
                value = source.share_buffer(cell)
                if value is not None:
                    copy.update({cell: value})
                    copy.shared_buffers.add(cell)
        return copy

    def _derivative(self, active: tuple[bool, ...], inside: Sequence[Tensor]) -> _Derivative | None:
        if active not in self._derivatives:
            self._derivatives[active] = _Derivative.of(self, [t for t, a in zip(inside, active, strict=True) if a])
        return self._derivatives[active]

    def pull(
        self, active: tuple[bool, ...], inside: Sequence[Tensor], seeded: tuple[bool, ...]
    ) -> tuple[Traced, list[Cotangent]]:
        """The gradient as a traced function of the arguments and cotangents, which can itself be differentiated.

        Args:
          active: for each of ``inside`` whether its gradient is wanted.
          inside: the inputs, captures and handles in the graph.
          seeded: for each output whether there is a cotangent.

        Returns:
          The function, and the gradients in its graph, one per active input.
        """
        key = (active, seeded)
        if key not in self._pulls:
            with self.graph.as_default():
                ys = [t for t, g in zip(self.outputs, seeded, strict=True) if g]
                seeds = [placeholder(t.dtype, t.dims) for t in ys]
                gradients = gradients_through(ys, [t for t, a in zip(inside, active, strict=True) if a], seeds)
            outputs: list[Tensor] = []
            for g in gradients:
                outputs += [] if g is None else [g.values, g.indices] if isinstance(g, IndexedSlices) else [g]
            # What is read after a write needs the write too.
            writes = [op for op in self.effects if op.writes]
            self._pulls[key] = (Traced(self.graph, [*self.inputs, *seeds], outputs, writes), gradients)
        return self._pulls[key]


class _Derivative:
    """A function's forward pass, which also returns the residuals of its backward pass.

    Attributes:
      stages: the forward pass, as the stages of a plan.
      seeds: per output the placeholder of its cotangent, or None where its dtype has no gradient.
      results: per active input its gradient in the graph: a tensor, IndexedSlices, or None.
      grad: the ``Gradients`` operation, None where nothing is connected.
    """

    def __init__(
        self, traced: Traced, stages: Sequence[Stage], seeds: Sequence[Tensor | None], results: Sequence[Cotangent],
        grad: Operation | None,
    ):  # fmt: skip
        self.traced = traced
        self.stages = stages
        self.seeds = seeds
        self.results = results
        self.grad = grad

    @functools.cached_property
    def adds_up(self) -> bool:
        """Whether the backward pass is additive in the cotangents: none of its gradient functions is nonlinear."""
        return self.grad is None or all(is_additive(rule) for rule in self.grad.attrs["rules"].values())

    @staticmethod
    def of(traced: Traced, active: Sequence[Tensor]) -> _Derivative | None:
        """The derivative by ``active`` inputs; None where values and gradient are not in one compiled program."""
        plan = traced.plan()
        devices = [s for s in plan.stages if isinstance(s, DeviceStage)]
        if (
            len(devices) != 1
            or devices[0].eager
            or not all(isinstance(s, DeviceStage | ConstantFoldingStage) for s in plan.stages)
        ):
            return None
        with traced.graph.as_default():
            ys = [t for t in traced.outputs if t.dtype.is_differentiable]
            seeds = [placeholder(t.dtype, t.dims) for t in ys]
            results = gradients_through(ys, active, seeds)
        gradients = [g.values if isinstance(g, IndexedSlices) else g for g in results if g is not None]
        # Calls of Python with values that are known before the program runs are not in it.
        before = {op for s in plan.stages if isinstance(s, ConstantFoldingStage) for op in s.ops}
        if gradients and not before.isdisjoint(gradients[0].op.attrs["path"]):
            return None
        if gradients and any(_assigns(rule.block) for rule in gradients[0].op.attrs["rules"].values()):
            return None
        derivative = _Derivative(
            traced, (), [s if t.dtype.is_differentiable else None for t, s in _seed_pairs(traced.outputs, seeds)],
            results, gradients[0].op if gradients else None,
        )  # fmt: skip
        derivative.stages = [_ForwardStage(s, derivative) if s is devices[0] and gradients else s for s in plan.stages]
        return derivative


def _assigns(block: Block) -> bool:
    """Whether a region assigns to a variable; counters of random operations (with a default) do not count."""
    return any(cell.default is None for op in block.ops for cell in op.writes)


def _seed_pairs(outputs: Sequence[Tensor], seeds: Sequence[Tensor]) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Each output with its seed; ``seeds`` are of the differentiable outputs only."""
    remaining = iter(seeds)
    for tensor in outputs:
        yield tensor, next(remaining) if tensor.dtype.is_differentiable else None


class _ForwardProgram(Program):
    """A program whose last outputs are residuals: forward values that its backward pass needs.

    Attributes, known once the program was traced:
      backward: (residuals, cotangents) -> gradients, and the error record where it checks something; jitted.
      routes: the source of each residual after a run: a variable that the program only reads, an input, or (None) a
        further output. What the store or the caller holds anyway is not returned a second time.
    """

    backward: Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]
    routes: list[StateVariable | Tensor | None]

    def residuals(self, run: Run, outputs: Sequence[Array]) -> list[Array]:
        """Collect the residuals of a run, given the further outputs."""
        remaining = iter(outputs)
        residuals: list[Array] = []
        for route in self.routes:
            if isinstance(route, StateVariable):
                residuals.append(run.store.share_buffer(route))
            else:
                residuals.append(next(remaining) if route is None else run.values[route])
        return residuals

    def pull_back(self, residuals: Sequence[Array], cotangents: Sequence[Array]) -> Sequence[Array]:
        """Run the backward program: the gradients and the error record, each on one device."""
        mapped = self.placement.mapped
        if mapped is None:
            return self.backward(residuals, cotangents)
        gradients = self.backward(mapped.bring(residuals), mapped.bring(cotangents))
        return [on_one_device(g) for g in gradients]


class _OneByOne(Exception):
    """Raised while a function is traced that cannot be compiled as a whole: its operations must run one by one."""


class _ForwardStage(DeviceStage):
    """The device stage of a function, as a program that returns residuals too."""

    def __init__(self, stage: DeviceStage, derivative: _Derivative):
        super().__init__(stage.ops, stage.inputs, stage.outputs, stage.fed, stage.stages, stage.inner)
        self.derivative = derivative

    def finish(self, run: Run, program: Program, outputs: Sequence[Array]) -> None:
        super().finish(run, program, outputs)
        assert isinstance(program, _ForwardProgram)
        run.kept[self.derivative] = (program, program.residuals(run, outputs[len(self.outputs) :]))

    def _run_eagerly(self, run: Run) -> None:
        raise _OneByOne

    def program(
        self, program_inputs: ProgramInputs, present: Container[StateVariable], trips: Mapping[Operation, int]
    ) -> Program:
        base = super().program(program_inputs, present, trips)
        grad = self.derivative.grad
        assert grad is not None
        specs: list[bool] = list(base.output_specs)
        program: _ForwardProgram

        def body(lowering: Lowering, values: Sequence[Array]) -> list[Array]:
            # By identity: the constants of the backward jaxpr are tracers, whose == makes new ones.
            there: dict[int, StateVariable | Tensor] = {
                id(v): t for t, v in zip(program_inputs.tensors, values, strict=True)
            }
            there |= {id(lowering.state[c]): c for c in program.state.undonated}
            outputs = list(base.body(lowering, values))
            seeds = [s for s in self.derivative.seeds if s is not None]
            shapes = [_like(lowering, t) for t in self.derivative.traced.outputs if t.dtype.is_differentiable]

            def back(*cotangents: Array) -> list[Array]:
                child = lowering.fork(dict(zip(seeds, cotangents, strict=True)))
                child.suppress_prints = True
                # It runs later than the forward program, so that its checks have a record of their own.
                if ERROR_RECORD in child.state:
                    child.errors.begin_step(program.checks.record_size)
                child.execute(grad)
                record = child.state.get(ERROR_RECORD)
                gradients: list[Array] = [jnp.asarray(child.value(t)) for t in grad.outputs]
                return [*gradients, record] if isinstance(record, jax.Array) else gradients

            # Traced inside the forward trace: values of the forward pass become constants, which are the residuals.
            closed = jax.make_jaxpr(back)(*shapes)
            jaxpr = closed.jaxpr

            def backward(residuals: Sequence[Array], cotangents: Sequence[Array]) -> Sequence[Array]:
                closed = jax_extend.core.ClosedJaxpr(jaxpr, list(residuals))
                grads: Sequence[Array] = jax_extend.core.jaxpr_as_fun(closed)(*cotangents)
                return grads

            program.backward = compilers.jit(backward, program.placement.platform)
            program.routes = [there.get(id(c)) for c in closed.consts]
            constants = [c for c, route in zip(closed.consts, program.routes, strict=True) if route is None]
            # Known only now, while it is traced: the program has this very list as its output specs.
            specs.extend([False] * len(constants))
            return [*outputs, *constants]

        program = _ForwardProgram([*self.ops, grad], body, base.input_specs, specs, present, trips)
        return program


def _like(lowering: Lowering, tensor: Tensor) -> jax.ShapeDtypeStruct:
    """The shape and dtype of a tensor's value."""
    value = lowering.value(tensor)
    return jax.ShapeDtypeStruct(np.shape(value), tensor.dtype.np)


class _CallRecord(Record):
    """A call of a traced function on a tape.

    Attributes:
      inputs: the arguments, captures and handles. active: which of them the tapes followed.
      residuals: the forward program and the residuals of this call.
      before: the state before the call, where an outer tape may need it.
    """

    outputs: Sequence[EagerTensor]

    __slots__ = ("active", "before", "derivative", "eager", "residuals", "traced")

    def __init__(
        self, traced: Traced, eager: EagerContext, derivative: _Derivative, inputs: Sequence[Tensor],
        outputs: Sequence[Tensor], residuals: tuple[_ForwardProgram, list[Array]], active: tuple[bool, ...],
        before: StateStore | None,
    ):  # fmt: skip
        super().__init__(inputs, outputs)
        self.traced = traced
        self.eager = eager
        self.derivative = derivative
        self.residuals = residuals
        self.active = active
        self.before = before

    def backward(self, requested: Sequence[bool], cotangents: Sequence[Tensor | None]) -> Sequence[Cotangent]:
        if self.eager.tapes.active and self.before is not None:
            return self._again(cotangents, self.before)
        program, residuals = self.residuals
        records = program.checks.records
        assert self.derivative.grad is not None
        with jax.enable_x64(True):
            seeds = [
                # One backward program serves all calls: a cotangent that is absent is zeros of its fixed shape.
                c.array if isinstance(c, EagerTensor) else np.zeros(t.array.shape, t.dtype.np)
                for t, c in zip(self.outputs, cotangents, strict=True)
                if t.dtype.is_differentiable
            ]
            gradients = program.pull_back(residuals, seeds)
        outputs = self.derivative.grad.outputs
        for record in gradients[len(outputs) :]:
            error = None if records is None else records.error(record)
            if error is not None:
                raise error
        tensors = iter([self.eager.tensor(v, t.dtype) for v, t in zip(gradients, outputs, strict=False)])
        return self._input_cotangents(self.derivative.results, tensors)

    def _again(self, cotangents: Sequence[Tensor | None], before: StateStore) -> Sequence[Cotangent]:
        """Call the gradient function over the state from before, so that outer tapes record it."""
        seeded = tuple([c is not None for c in cotangents])
        graph = self.traced.graph
        inside = [*self.traced.inputs, *graph.captured.values(), *graph.handles.values()]
        pull, results = self.traced.pull(self.active, inside, seeded)
        arguments = self.inputs[: len(self.traced.inputs)]
        outputs = pull.over(self.eager, [*arguments, *(c for c in cotangents if c is not None)], before)
        return self._input_cotangents(results, iter(outputs))

    def _input_cotangents(self, results: Sequence[Cotangent], tensors: Iterator[Tensor]) -> list[Cotangent]:
        """One cotangent per input, built from the values of ``results`` in order; None for inactive inputs."""
        kinds = iter(results)
        cotangents: list[Cotangent] = []
        for tensor, is_active in zip(self.inputs, self.active, strict=True):
            kind = next(kinds) if is_active else None
            if isinstance(kind, IndexedSlices):
                cotangents.append(self.eager.rows(next(tensors), next(tensors), tensor))
            else:
                cotangents.append(None if kind is None else next(tensors))
        return cotangents


def _array(value: Any) -> Array:
    return value if isinstance(value, jax.Array | np.ndarray) else np.asarray(value)


def _by_position(value: Any, dtype: DType, axis: Axis) -> Any:
    """The value of a varying output as ``[axis size, ...]``. Strings are computed once, for all replicas."""
    return np.broadcast_to(value, (axis.size, *np.shape(value))) if dtype is string else value
