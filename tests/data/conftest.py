"""What tests of loops over data look at: programs, turns on the host, and chunks of few steps."""

import pytest

from towerstrat.graph.runtime.loops import data_loop_stage as fed_loop
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler
from towerstrat.graph.runtime.plans import host_control_flow_stage as hosted
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS


@pytest.fixture
def programs(monkeypatch):
    """The device programs that were traced: those of chunks by themselves."""
    found = []
    lowered = Program.lowered

    def counted(program, *args):
        found.append(type(program).__name__)
        return lowered(program, *args)

    monkeypatch.setattr(LIMITS, "compare_loops", False)
    monkeypatch.setattr(Program, "lowered", counted)
    return found


@pytest.fixture
def turns(monkeypatch):
    """The turns that loops did on the host, with what they did them for."""
    found = []
    iterate = hosted.HostLoop.iterate

    def counted(stage, run, values):
        found.append(stage)
        return iterate(stage, run, values)

    monkeypatch.setattr(hosted.HostLoop, "iterate", counted)
    return found


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(ChunkScheduler, "fitting", lambda pace, step_bytes: 3)
    monkeypatch.setattr(fed_loop, "_TESTED_STEPS", 3)
