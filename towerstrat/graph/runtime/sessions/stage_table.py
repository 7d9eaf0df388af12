"""The table of stages of operations with bodies of their own, by ``OpDef.stage``, and the plans made with it.

It is here, above all stages, so that these need not know each other: a plan gets the table as an argument and looks a
stage up by name.
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
