"""The stages that carry out operations with bodies of their own, by name; and plans that have them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from towerstrat.graph.ir.core import Graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.runtime.data_loop import loop_stage
from towerstrat.graph.runtime.host_control_flow import HostBranch
from towerstrat.graph.runtime.meeting import MeetingStage
from towerstrat.graph.runtime.plan import Plan, Stages
from towerstrat.graph.runtime.shared_loop import step_stage

STAGES: Stages = {"branch": HostBranch, "loop": loop_stage, "meeting": MeetingStage, "step loop": step_stage}


def plan_of(
    graph: Graph,
    fetches: Sequence[Tensor | Operation],
    fed: Iterable[Tensor],
    connections: Mapping[Tensor, Tensor] | None = None,
) -> Plan:
    """How fetches are computed from feeds, and from connections: tensors that take the values of others."""
    return Plan(graph, fetches, fed, STAGES, connections=connections)
