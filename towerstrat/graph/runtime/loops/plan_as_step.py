"""A run's plan as the body of a step loop: ``Session.run`` of a training step, made a function of one element.

``steps_ahead`` runs such steps many at a time. A plan qualifies where each run takes exactly one element of one
iterator and then runs exactly one device program; folded constants are the same in every run and are evaluated once.
Anything else (a fed placeholder, ``py_func``, a second iterator, strings) raises ``NotAStep``, whose text says why:

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     x = tf.data.make_one_shot_iterator(tf.data.Dataset.range(6)).get_next()
...     y = x * x
>>> step = PlanStep(Plan(graph, [y], [], {}))
>>> step.take.type, step.per_step_outputs[0] is y
('IteratorGetNext', True)
>>> PlanStep(Plan(graph, [y], [x], {}))
Traceback (most recent call last):
    ...
towerstrat.graph.runtime.loops.plan_as_step.NotAStep: IteratorGetNext:0 is fed

The operation that takes is the element of a step; those of the device stage are its operations, and a fetched loss is
one of ``per_step_outputs``. A fetched variable's handle stands for the variable's value after each step. ``at`` makes
of the stacked values of one program the ``Run`` that a single step would have been.

``SingleStep`` is the same body for a run that is carried out alone: it uses the loop with room for two steps, so that a
step has the same bits whether it ran alone or ahead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.state import StateStore, StateVariable
from towerstrat.graph.ir.types import Array, resource, string
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.lowering.lowering_errors import NeedsTripCount
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler
from towerstrat.graph.runtime.loops.input_chunks import Chunk, Source
from towerstrat.graph.runtime.loops.step_loop_stage import LoopStage
from towerstrat.graph.runtime.loops.step_program import NO_FAILED_STEP, StepBody, StepLoopProgram
from towerstrat.graph.runtime.plans.plan import ConstantFoldingStage, DeviceStage, HostStage, Plan
from towerstrat.graph.runtime.plans.runner import Run, Stage, Values
from towerstrat.graph.runtime.programs.device_program import calls_back
from towerstrat.graph.runtime.programs.program_cache import OwnedPrograms
from towerstrat.graph.runtime.programs.state_arguments import effects

_COPIED = {"cpu": 4e9}
_COPIED_ELSEWHERE = 4e11
"""Bytes of state that a device copies in a second."""


class NotAStep(Exception):
    """A plan that cannot be the steps of a loop; says why, in words."""


class PlanStep(StepBody):
    """A step body whose steps are runs of a plan, each on one element of one iterator.

    Args:
      alone: whether each step is a run by itself, beside which the host carries out the plan's other stages.

    Raises:
      NotAStep: the plan does more on the host, or what it does is not the same in every run.
    """

    def __init__(self, plan: Plan, alone: bool = False):
        self.take, stage = _parts(plan, alone)
        self.stage = stage
        elements = self.take.outputs
        self.folds = [s for s in plan.stages if isinstance(s, ConstantFoldingStage)]
        varying = {t.varies for t in elements}
        if stage.axis is not None and varying != {True}:
            raise NotAStep("towers share one element")
        step_tensors = {*elements, *stage.outputs}
        fetched = [f for f in dict.fromkeys(plan.fetches) if isinstance(f, Tensor)]
        self.named: dict[Tensor, Tensor | StateVariable] = {t: t for t in fetched if t in step_tensors}
        """Fetch -> the tensor, or variable after the step, that is its value."""
        for fetch in plan.fetches:
            if isinstance(fetch, Tensor) and fetch.dtype is resource:
                self.named[fetch] = fetch.op.attrs["cell"]
        op = stage.ops[-1]
        super().__init__(
            f"The run of {len(stage.ops)} operations up to {op.name} (created at {op.line}), as steps of a loop",
            op, stage.ops, stage.ops, elements, True, [t for t in stage.inputs if t not in set(elements)], (), (),
            stage.axis,
        )  # fmt: skip
        self.per_step_outputs = (
            stage.outputs
            if alone
            else [x for x in dict.fromkeys(self.named.values()) if not isinstance(x, StateVariable) or x in self.cells]
        )
        self.pace = ChunkScheduler(self.axis)
        self.input = self.feeder()
        self.written = effects(stage.ops)[1]
        self.seconds: float | None = None
        """Seconds of a step in the first runs, which bound the number of steps per program."""
        self.programs: OwnedPrograms[StepLoopProgram] = OwnedPrograms()
        sizes = (math.prod([d or 1 for d in x.dims or ()]) * x.dtype.np.itemsize for x in self.per_step_outputs)
        self.step_bytes = sum(sizes) * (1 if self.axis is None else self.axis.size)
        """Bytes of the values of ``per_step_outputs`` after one step."""

    def source(self, run: Run) -> Source:
        """The source of the elements in a session: its iterator."""
        source: Source = self.take.attrs["source"](run.session, self.take, ())
        return source

    def add_constants(self, run: Run) -> Run:
        """Add to ``run`` the values that are the same in every run: folded constants."""
        for fold in self.folds:
            fold.run(run)
        return run

    def copy_seconds(self, store: StateStore) -> float:
        """Estimated seconds to copy the state that a step writes; infinite where the device has no room for a copy."""
        size: int = sum(store.get(cell).nbytes for cell in self.written if cell in store)
        memory: Mapping[str, float] = self.pace.device.memory_stats() or {}
        if 2 * size > memory.get("bytes_limit", math.inf) - memory.get("bytes_in_use", 0):
            return math.inf
        return size / _COPIED.get(self.pace.device.platform, _COPIED_ELSEWHERE)

    def at(self, run: Run, stacks: list[Array], step: int) -> Run:
        """The ``Run`` that step number ``step`` of a program stands for.

        Args:
          run: with the values that are the same in each of them.
          stacks: the values of ``per_step_outputs`` after each step, on the host.
          step: from 0, of the steps that the program has run.
        """
        variables: Values = {}
        values: Values = dict(run.values)
        of = dict(zip(self.per_step_outputs, stacks, strict=True))
        for fetch, output in self.named.items():
            if output not in of:
                continue
            split = self.axis is not None and (
                output.is_varying if isinstance(output, StateVariable) else output.varies
            )
            value = of[output][:, step] if split else of[output][step]
            if isinstance(output, StateVariable):
                variables[fetch] = output.joined(value)
            else:
                values[fetch] = value
        return Run(run.session, run.store, values, variables)


class SingleStep:
    """The device stage of one run, as a step of a loop with room for two: same bits as steps that run together.

    Attributes:
      refused: why it runs without a loop after all, once that is known.
    """

    def __init__(self, plan: Plan):
        self.step = PlanStep(plan, alone=True)
        self.refused: str | None = None

    def run(self, run: Run) -> None:
        element = [run.values[t] for t in self.step.inputs]
        if any(isinstance(value, UnevenShards) for value in element):
            self.refused = "parts of its batch have different shapes"
        if self.refused is None:
            try:
                self._run(run, element)
                return
            except (NeedsTripCount, UnsupportedError) as why:  # raised while it is compiled
                self.refused = str(why)
        self.step.stage.run(run)

    def _run(self, run: Run, element: Sequence[Array]) -> None:
        step, chunk = self.step, Chunk(2)
        chunk.steps = 1
        # The second row fills the room, and no step reads it: the program is told to run one.
        chunk.buffers = [np.stack([value, value]) for value in map(np.asarray, element)]
        program, inputs = step.program(run, step.programs, chunk, False, NO_FAILED_STEP)
        outputs, record = program(run.store, inputs)
        if program.checks.can_fail:
            run.checks.append(partial(program.error, record))
        for tensor, stack in zip(step.stage.outputs, outputs, strict=False):
            along = step.axis is not None and tensor.varies
            run.values[tensor] = stack[:, 0] if along else stack[0]


def stages_of_single_step(plan: Plan) -> Sequence[Stage]:
    """The stages of a plan, its device stage replaced by a ``SingleStep``.

    Raises:
      NotAStep: it has no such one.
    """
    single = SingleStep(plan)
    return [single if stage is single.step.stage else stage for stage in plan.stages]


def _parts(plan: Plan, alone: bool) -> tuple[Operation, DeviceStage]:
    """(operation that takes an element, device stage) of a plan. Raises NotAStep where it has others besides."""
    if plan.fed:
        raise NotAStep(f"{min(t.name for t in plan.fed)} is fed")
    takes, devices = [], []
    for stage in plan.stages:
        if isinstance(stage, HostStage):
            if stage.op.attrs.get("takes") != "element" or stage.op.inputs:
                if alone:
                    continue
                raise NotAStep(f"the host runs {stage.op.name} (type {stage.op.type}, created at {stage.op.line})")
            takes.append(stage.op)
        elif isinstance(stage, DeviceStage):
            devices.append(stage)
        elif isinstance(stage, LoopStage):
            raise NotAStep("it is a step loop already")
        elif not alone and (not isinstance(stage, ConstantFoldingStage) or not stage.fixed):
            raise NotAStep("values are computed on the host")
    if len(takes) != 1:
        raise NotAStep(f"it takes elements of {len(takes)} iterators" if takes else "it takes no data of an iterator")
    if len(devices) != 1:
        raise NotAStep("the host works between two programs" if devices else "nothing is left to the device")
    (device,) = devices
    if device.eager:
        raise NotAStep("its operations run one by one: shapes depend on values")
    if calls_back(device.ops):
        raise NotAStep("its program calls Python")
    if any(t.dtype is string for t in takes[0].outputs):
        raise NotAStep("its data has strings")
    return takes[0], device
