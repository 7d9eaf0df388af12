"""The table of stages of operations with bodies of their own, by ``OpDef.stage``, and the plans made with it.

It is here, above all stages, so that these need not know each other: a plan gets the table as an argument and looks a
stage up by name. Branches and loops with ``MeanOverWorkers`` inside get the stages of ``collective``, where processes
train together. ``plan_of`` is what sessions and traced functions call. A branch is part of a device program, unless the
host has to act in it:

>>> from towerstrat.graph.ir.tensor_conversion import placeholder
>>> from towerstrat.graph.ops.control.branches import cond
>>> from towerstrat.graph.ops.host.python_calls import py_func
>>> with Graph().as_default() as graph:
...     p, x = placeholder("bool", []), placeholder("float32", [])
...     plain = cond(p, lambda: -x, lambda: x)
...     calling = cond(p, lambda: py_func(abs, [x], "float32"), lambda: x)
>>> [[type(stage).__name__ for stage in plan_of(graph, [y], [p, x]).stages] for y in (plain, calling)]
[['DeviceStage'], ['HostBranch', 'DeviceStage']]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.runtime.collective.collective_control_flow import CollectiveBranch, CollectiveLoop, meets_inside
from towerstrat.graph.runtime.collective.gradient_mean_stage import GradientMeanStage
from towerstrat.graph.runtime.loops.collective_step_loop import step_stage
from towerstrat.graph.runtime.loops.data_loop_stage import loop_stage
from towerstrat.graph.runtime.plans.host_control_flow_stage import HostBranch, HostLoop
from towerstrat.graph.runtime.plans.plan import Plan, Stages


def _branch(op: Operation, stages: Stages) -> HostBranch:
    return CollectiveBranch(op, stages) if meets_inside(op) else HostBranch(op, stages)


def _loop(op: Operation, stages: Stages) -> HostLoop:
    return CollectiveLoop(op, stages) if meets_inside(op) else loop_stage(op, stages)


STAGES: Stages = {"branch": _branch, "loop": _loop, "meeting": GradientMeanStage, "step loop": step_stage}


def plan_of(
    graph: Graph,
    fetches: Sequence[Tensor | Operation],
    fed: Iterable[Tensor],
    connections: Mapping[Tensor, Tensor] | None = None,
) -> Plan:
    """The plan of fetches from feeds. ``connections``: tensor -> the tensor whose value it takes."""
    return Plan(graph, fetches, fed, STAGES, connections=connections)
