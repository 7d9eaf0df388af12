"""The stages that carry out operations with bodies of their own, by name; and plans that have them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from towerstrat.graph.ir.core import Graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.runtime.data_loop import loop_stage
from towerstrat.graph.runtime.host_control_flow import HostBranch, HostLoop
from towerstrat.graph.runtime.meeting import MeetingStage
from towerstrat.graph.runtime.meeting_branches import MeetingBranch, MeetingLoop, meets_inside
from towerstrat.graph.runtime.plan import Plan, Stages
from towerstrat.graph.runtime.shared_loop import step_stage


def _branch(op: Operation, stages: Stages) -> HostBranch:
    return MeetingBranch(op, stages) if meets_inside(op) else HostBranch(op, stages)


def _loop(op: Operation, stages: Stages) -> HostLoop:
    return MeetingLoop(op, stages) if meets_inside(op) else loop_stage(op, stages)


STAGES: Stages = {"branch": _branch, "loop": _loop, "meeting": MeetingStage, "step loop": step_stage}


def plan_of(
    graph: Graph,
    fetches: Sequence[Tensor | Operation],
    fed: Iterable[Tensor],
    connections: Mapping[Tensor, Tensor] | None = None,
) -> Plan:
    """How fetches are computed from feeds, and from connections: tensors that take the values of others."""
    return Plan(graph, fetches, fed, STAGES, connections=connections)
