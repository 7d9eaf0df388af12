"""Topologies: where devices are, and the bytes that say so."""

import json
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from towerstrat.towers.cluster.topology import topology_of

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "device_assignments.json").read_text())
TOPOLOGIES = [case for version in ("2.15", "1.12") for case in GOLDEN[version]]
Topology = tf.tpu.experimental.Topology


def cpus(count):
    return [SimpleNamespace(process_index=0, number=i) for i in range(count)]


def chips(places, processes=1):
    size = len(places) // processes
    return [SimpleNamespace(coords=p[:3], core_on_chip=p[3], process_index=i // size) for i, p in enumerate(places)]


@pytest.mark.parametrize("case", TOPOLOGIES, ids=lambda case: str(case["mesh"]))
def test_the_bytes_are_the_originals(case):
    topology = Topology(mesh_shape=case["mesh"], device_coordinates=case["devices"])
    serialized = bytes.fromhex(case["bytes"])
    assert topology.serialized() == serialized
    again = Topology(serialized)
    assert again.mesh_shape.tolist() == case["mesh"]
    assert again.device_coordinates.tolist() == case["devices"]
    assert again.serialized() is serialized


@given(st.integers(1, 400), st.sampled_from([3, 4]), st.data())
def test_any_topology_comes_back(size, rank, data):
    mesh = [size, *(data.draw(st.integers(1, 3)) for _ in range(rank - 1))]
    places = np.argwhere(np.ones(mesh))[:, None]
    topology = Topology(mesh_shape=mesh, device_coordinates=places)
    again = Topology(serialized=topology.serialized())
    assert again.mesh_shape.tolist() == mesh
    assert again.device_coordinates.tolist() == places.tolist()
    assert (again.num_tasks, again.num_tpus_per_task, again.mesh_rank) == (len(places), 1, rank)


def test_fields_that_are_not_known_are_passed_over():
    """Field 5 is the hardware's features; 6, 7 and 8 are of other kinds; a list may come one by one."""
    one_by_one = b"\x08\x01\x08\x01\x08\x01\x08\x02" + b"\x10\x01\x18\x02" + b'"\x08' + bytes([0, 0, 0, 0, 0, 0, 0, 1])
    topology = Topology(one_by_one + b"\x2a\x02\x08\x01" + b"\x30\x07" + b"\x39" + bytes(8) + b"\x45" + bytes(4))
    assert topology.mesh_shape.tolist() == [1, 1, 1, 2]
    assert topology.device_coordinates.tolist() == [[[0, 0, 0, 0], [0, 0, 0, 1]]]


@pytest.mark.parametrize(("serialized", "message"), [
    (b"\x0a\x04\x02\x01", "does not describe a topology: 4 bytes"),
    (b"\x0a", "does not describe a topology"),
    (b"\x0b\x0b", "does not describe a topology"),
    (b"\x0a\x04\x02\x01\x01\x02\x10\x01\x18\x04", r"num_tasks \(1\) \* num_tpu_devices_per_task \(4\).*got 0 numbers"),
    (b"\x0a\x04\x02\x01\x01\x02\x10" + b"\xff" * 9 + b"\x01", "must be >= 0; got -1 and 0"),
    (b"\x10\x00", "mesh_shape"),
    ("text", "must be the bytes of a topology; got str"),
])  # fmt: skip
def test_malformed_bytes(serialized, message):
    with pytest.raises(ValueError, match=message):
        Topology(serialized)


@pytest.mark.parametrize(("mesh", "devices", "message"), [
    (None, None, "`mesh_shape` must be"),
    ([2, 2], [[[0, 0]]], "`mesh_shape` must be"),
    ([1, 1, 1, 1, 1], [[[0] * 5]], "`mesh_shape` must be"),
    ([1, 0, 1, 1], [[[0] * 4]], "positive"),
    ([1, 1, 1, 2], None, r"shape \[tasks, devices, 4\]"),
    ([1, 1, 1, 2], [[0, 0, 0, 0]], r"got the shape \[1, 4\]"),
    ([1, 1, 1, 2], [[[0, 0, 0]]], r"got the shape \[1, 1, 3\]"),
    ([1, 1, 1, 2], [[[0, 0, 0, 2]]], r"lie in the mesh \[1, 1, 1, 2\]; got \[0, 0, 0, 2\]"),
    ([1, 1, 1, 2], [[[0, 0, 0, -1]]], "lie in the mesh"),
])  # fmt: skip
def test_what_is_no_topology(mesh, devices, message):
    with pytest.raises(ValueError, match=message):
        Topology(mesh_shape=mesh, device_coordinates=devices)


@pytest.mark.parametrize("place", [[0, 0, 0, 1], [0, 0, 1]], ids=["rank 4", "rank 3"])
def test_names(place):
    """The values are those that 2.15 gives."""
    mesh = [2, *[1] * (len(place) - 2), 2]
    last = [1, *place[1:]]
    topology = Topology(mesh_shape=mesh, device_coordinates=[[place], [last]])
    assert (topology.task_ordinal_at_coordinates(last), topology.tpu_device_ordinal_at_coordinates(last)) == (1, 0)
    assert topology.cpu_device_name_at_coordinates(last) == "/task:1/device:CPU:0"
    assert topology.cpu_device_name_at_coordinates(last, "worker") == "/job:worker/task:1/device:CPU:0"
    assert topology.tpu_device_name_at_coordinates(last, job="worker") == "/job:worker/task:1/device:TPU:0"
    missing = [[0] * len(place), [1, *[0] * (len(place) - 1)]]
    assert topology.missing_devices.tolist() == missing
    assert topology.task_ordinal_at_coordinates(missing[0]) == -1


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8])
def test_devices_without_coordinates(count):
    """Rule 21's meshes on the CPU: two cores a chip if the number is even."""
    topology = topology_of(cpus(count))
    assert topology.mesh_shape.tolist() == ([count, 1, 1, 1] if count % 2 else [count // 2, 1, 1, 2])
    assert not len(topology.missing_devices)
    assert [topology.tpu_device_ordinal_at_coordinates(p) for p in topology.device_coordinates[0]] == list(range(count))


def test_devices_with_coordinates():
    places = [(x, y, 0, core) for y in range(2) for x in range(2) for core in range(2)]
    topology = topology_of(chips(places, processes=2))
    assert topology.mesh_shape.tolist() == [2, 2, 1, 2]
    assert (topology.num_tasks, topology.num_tpus_per_task) == (2, 4)
    assert topology.device_coordinates.reshape(-1, 4).tolist() == [list(place) for place in places]
    assert len(topology_of(chips(places[:3])).missing_devices) == 1


def test_starting_the_system():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    assert isinstance(topology, Topology)
    assert topology.num_tpus_per_task == len(jax.devices())
    assert tf.tpu.experimental.initialize_tpu_system().serialized() == topology.serialized()
    assert tf.tpu.experimental.shutdown_tpu_system(resolver) is None
    for function in (tf.tpu.experimental.initialize_tpu_system, tf1.tpu.experimental.shutdown_tpu_system):
        with pytest.raises(TypeError, match="Expected a TPUClusterResolver"):
            function("local")
