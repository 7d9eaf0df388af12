"""Axes: what one that spans several processes says to them."""

import jax
import pytest

from towerstrat.graph.ir import mesh
from towerstrat.hosts.process_index import ProcessGroup


@pytest.mark.parametrize("multi_process", [True, False])
def test_processes_that_an_axis_spans_stay_together(multi_process, monkeypatch):
    processes = ProcessGroup()
    processes.join(3, 1)
    processes.part()
    monkeypatch.setattr(mesh, "PROCESSES", processes)
    monkeypatch.setattr(mesh.Axis, "is_multi_process", multi_process)
    monkeypatch.setattr(mesh.Axis, "_require_all_processes", lambda axis: None)
    monkeypatch.setattr(jax, "process_count", lambda: 3)
    monkeypatch.setattr(jax, "process_index", lambda: 0)
    mesh.Axis("tower", jax.devices()[:2])
    assert processes.united == processes.in_lockstep == multi_process


@pytest.mark.parametrize(("devices", "logical"), [(0, 1), (3, 2)])
def test_positions_of_some_devices_are_refused(devices, logical):
    with pytest.raises(ValueError, match=f"positions of {logical} devices each, got {devices} devices"):
        mesh.Axis("tower", jax.devices()[:devices], logical)
