"""Profile of a traced run: the times of its stages, and XLA's costs of their device programs, as ``RunMetadata``.

A device program is one entry; inside of it there are no times of single operations (``jax.profiler.trace`` has them).
Of a run with one program on a CPU:

    step_stats.dev_stats[0].node_stats    Session.run                       whole run, microseconds
                                          program_0 "...: 3072 flops, ..."  until its outputs are there
    cost_graph.node                       program_0                         compute_cost: flops, memory: arguments

A run of one stage without a program, a ``py_func`` of 1 ms:

>>> metadata = messages.RunMetadata()
>>> describe_spans(metadata, 0.0, 0.002, [Span("y = PyFunc", 0.0, 0.001, None)])
>>> [(n.timeline_label, n.all_end_rel_micros) for n in metadata.step_stats.dev_stats[0].node_stats]
[('Session.run', 2000), ('y = PyFunc', 1000)]

A traced stage waits for the device, so that stages do not overlap as they do in other runs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax

from towerstrat.graph.runtime.plans.plan import DeviceStage, HostStage
from towerstrat.graph.runtime.plans.runner import Run, Stage
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.platform import messages

_TASK = "/job:localhost/replica:0/task:0/device:"


class Span(NamedTuple):
    """The time of one stage of a run.

    Attributes:
      name: the stage, in words.
      start, end: in seconds since the epoch; the end is when its values are there.
      program: the device program that ran last in it; None: none did.
    """

    name: str
    start: float
    end: float
    program: Program | None


class TracedStage:
    """A timed stage, which ends when the device is done.

    Args:
      stage: the stage. spans: list to which its time is added.
    """

    def __init__(self, stage: Stage, spans: list[Span]):
        self.stage = stage
        self.spans = spans

    def run(self, run: Run) -> None:
        before, values = run.store.reusable_arguments, set(run.values)
        start = time.time()
        self.stage.run(run)
        # The store knows the program that ran last; where that is another than before, this stage ran it.
        last = None if run.store.reusable_arguments is before else run.store.reusable_arguments
        program, state = (None, []) if last is None else last[:2]
        jax.block_until_ready([*state, *(v for t, v in run.values.items() if t not in values)])
        ran = program if isinstance(program, Program) else None
        self.spans.append(Span(_name(self.stage), start, time.time(), ran))


def trace_stages(stages: Sequence[Stage], spans: list[Span]) -> list[Stage]:
    """Stages that add their times to ``spans``."""
    return [TracedStage(stage, spans) for stage in stages]


def _name(stage: Stage) -> str:
    if isinstance(stage, HostStage):
        return f"{stage.op.name} = {stage.op.type}"
    return stage.compiled.log.what if isinstance(stage, DeviceStage) else type(stage).__name__


class Costs(NamedTuple):
    """XLA's cost and memory analysis of a compiled program; a loop's body counts once.

    Attributes:
      flops: floating point operations. accessed: bytes that are read and written.
      arguments, outputs, temporary: bytes of memory.
    """

    flops: int
    accessed: int
    arguments: int
    outputs: int
    temporary: int


def costs(program: Program) -> Costs:
    """The costs of a compiled program; zeros where XLA gives none."""
    assert program.compiled is not None
    analysis: Mapping[str, float] = program.compiled.cost_analysis() or {}
    memory = program.compiled.memory_analysis()
    sizes = (0, 0, 0) if memory is None else (
        memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.temp_size_in_bytes
    )  # fmt: skip
    # A program of no operations has -1.
    flops, accessed = (max(0, int(analysis.get(key, 0))) for key in ("flops", "bytes accessed"))
    return Costs(flops, accessed, *map(int, sizes))


def describe_spans(metadata: messages.RunMetadata, start: float, end: float, spans: Sequence[Span]) -> None:
    """Write the times of a run and its stages to ``step_stats``, and the costs of its programs to ``cost_graph``.

    A program is one entry: it has no times of single operations. In the cost graph ``compute_cost`` are its floating
    point operations, ``persistent_memory_size`` its arguments, and ``temporary_memory_size`` its temporary buffers.
    """
    host = metadata.step_stats.dev_stats.add(device=f"{_TASK}CPU:0")
    _add_times(host, "Session.run", "Session.run", start, end)
    first = jax.local_devices()[0]
    device = host
    if first.platform != "cpu" and any(span.program for span in spans):
        device = metadata.step_stats.dev_stats.add(device=f"{_TASK}{first.platform.upper()}:0")
    for number, span in enumerate(spans):
        if span.program is None:
            _add_times(host, f"stage_{number}", span.name, span.start, span.end)
            continue
        cost = costs(span.program)
        label = f"{span.name}: {cost.flops} flops, {cost.accessed} bytes"
        node = _add_times(device, f"program_{number}", label, span.start, span.end)
        node.memory.add(allocator_name="XLA", total_bytes=cost.temporary + cost.outputs, peak_bytes=cost.temporary)
        entry = metadata.cost_graph.node.add(
            name=node.node_name, device=device.device, id=number, compute_cost=cost.flops,
            temporary_memory_size=cost.temporary, persistent_memory_size=cost.arguments,
        )  # fmt: skip
        entry.output_info.add(size=cost.outputs)


def _add_times(device: messages.DeviceStepStats, name: str, label: str, start: float, end: float) -> Any:
    micros = max(0, round(1e6 * (end - start)))
    return device.node_stats.add(
        node_name=name, all_start_micros=round(1e6 * start), op_end_rel_micros=micros, all_end_rel_micros=micros,
        timeline_label=label,
    )  # fmt: skip
