"""Device assignments (rule 21): each against the original's, and what holds for all of them."""

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

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "device_assignments.json").read_text())
CASES = [case for version in ("2.15", "1.12") for case in GOLDEN[version]]
Topology, DeviceAssignment = tf.tpu.experimental.Topology, tf.tpu.experimental.DeviceAssignment
DeviceOrderMode = tf.tpu.experimental.DeviceOrderMode


def full(mesh, missing=0):
    """A topology of one task whose devices fill the mesh, but for the last ones."""
    places = np.argwhere(np.ones(mesh))
    return Topology(mesh_shape=mesh, device_coordinates=[places[: len(places) - missing]])


def built(topology, shape, stride, replicas, order):
    try:
        cores = DeviceAssignment.build(topology, shape, stride, replicas, DeviceOrderMode[order]).core_assignment
    except ValueError:
        return "raises ValueError"
    return np.ravel_multi_index(cores.T, topology.mesh_shape).T.tolist()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['mesh']} {len(case['devices'])}")
def test_rule_21_every_assignment_is_the_originals(case):
    """What the original asserts, without a word, is a ValueError here."""
    topology = Topology(mesh_shape=case["mesh"], device_coordinates=case["devices"])
    for arguments, expected in case["cases"]:
        expected = "raises ValueError" if expected == "raises AssertionError" else expected
        assert built(topology, *arguments) == expected, arguments


@st.composite
def packings(draw):
    rank = draw(st.sampled_from([3, 4]))
    mesh = np.asarray([*(draw(st.integers(1, 6)) for _ in range(rank - 1)), draw(st.integers(1, 2))])
    shape = np.asarray([draw(st.integers(1, size)) for size in mesh.tolist()])
    stride = np.asarray([draw(st.integers(1, int(m // s))) for m, s in zip(mesh, shape, strict=True)])
    most = int((mesh // (shape * stride) * stride).prod())
    return mesh, shape, stride, most, draw(st.integers(0, most))


@given(packings())
def test_rule_21_what_holds_for_every_assignment(packing):
    mesh, shape, stride, most, replicas = packing
    topology = full(mesh)
    cores = DeviceAssignment.build(topology, shape, stride, replicas).core_assignment
    assert cores.shape == (replicas, shape.prod(), len(mesh))
    assert ((cores >= 0) & (cores < mesh)).all()
    assert len({tuple(core) for core in cores.reshape(-1, len(mesh)).tolist()}) == cores.shape[0] * cores.shape[1]
    lowest = cores.min(axis=1, initial=10**6)
    offsets = (cores - lowest[:, np.newaxis]) // stride
    assert ((cores - lowest[:, np.newaxis]) % stride == 0).all(), "cores lie a stride apart"
    assert (offsets.max(axis=1, initial=0) == shape - 1).all(), "each replica is a block of the shape"
    with pytest.raises(ValueError, match=f"{most + 1} replicas were asked for, but {most} with"):
        DeviceAssignment.build(topology, shape, stride, most + 1)
    with pytest.raises(ValueError, match="footprint .* does not fit in the mesh"):
        DeviceAssignment.build(topology, mesh // stride + 1, stride)


@given(st.tuples(*[st.integers(1, 3)] * 3), st.tuples(*[st.integers(1, 3)] * 3), st.integers(1, 2))
def test_rings_close(shape, blocks, cores):
    """With even axes, neighbors in number are neighbors in the mesh, chips within a replica as blocks in it."""
    shape, blocks = 2 * np.asarray(shape), 2 * np.asarray(blocks)
    topology = full([*(shape * blocks), cores])
    found = DeviceAssignment.build(topology, [*shape, cores], None, blocks.prod(), DeviceOrderMode.RING).core_assignment
    chips, replicas = found[0, ::cores, :3], found[:, 0, :3] // shape
    for ring in (chips, replicas):
        assert (np.abs(ring - np.roll(ring, 1, axis=0)).sum(axis=1) == 1).all()
    assert found[0, :cores, 3].tolist() == list(range(cores))


def test_rule_21_defaults():
    """Shape and stride are ones, replicas one; cores of a chip come first, offset replicas interleave."""
    assert DeviceAssignment.build(full([2, 2, 1, 2])).core_assignment.tolist() == [[[0, 0, 0, 0]]]
    pair = DeviceAssignment.build(full([2, 1, 1, 2]), num_replicas=2).core_assignment
    assert pair.tolist() == [[[0, 0, 0, 0]], [[0, 0, 0, 1]]]
    apart = DeviceAssignment.build(full([4, 1, 1, 1]), [2, 1, 1, 1], [2, 1, 1, 1], 2).core_assignment
    assert apart[..., 0].tolist() == [[0, 2], [1, 3]]


@pytest.mark.parametrize(("mesh", "shape"), [([1, 1, 2], [1, 1, 2]), ([1, 1, 1, 2], [1, 1, 1, 2]),
                                             ([1, 1, 1, 2], [1, 1, 2])])  # fmt: skip
def test_rule_21_both_ranks(mesh, shape):
    """The page's own sample, in both ranks; three numbers are taken for a mesh of one plane."""
    assignment = DeviceAssignment.build(full(mesh), computation_shape=shape, num_replicas=1)
    assert (assignment.num_replicas, assignment.num_cores_per_replica) == (1, 2)
    assert assignment.core_assignment[0, :, -1].tolist() == [0, 1]


@pytest.mark.parametrize(("mesh", "arguments", "message"), [
    ([2, 1, 1, 2], {"computation_shape": [1, 2]}, r"computation_shape must have shape \[4\]; got \[2\]"),
    ([2, 1, 2, 2], {"computation_shape": [1, 1, 2]}, r"computation_shape must have shape \[4\]; got \[3\]"),
    ([2, 1, 2], {"computation_shape": [1, 1, 1, 2]}, r"computation_shape must have shape \[3\]; got \[4\]"),
    ([2, 1, 1, 2], {"computation_stride": [[1, 1, 1, 2]]}, "computation_stride must have shape"),
    ([2, 1, 1, 2], {"computation_shape": [1, 0, 1, 2]}, "computation_shape must be positive"),
    ([2, 1, 1, 2], {"computation_stride": [1, -1, 1, 2]}, "computation_stride must be positive"),
    ([2, 1, 1, 2], {"computation_shape": [2, 1, 1, 1], "computation_stride": [2, 1, 1, 1]},
     r"\[4, 1, 1, 1\], computation_shape \[2, 1, 1, 1\] times computation_stride \[2, 1, 1, 1\], does not fit"),
    ([2, 1, 1, 2], {"num_replicas": 5}, "5 replicas were asked for, but 4"),
    ([2, 1, 1, 2], {"num_replicas": -1}, "-1 replicas were asked for"),
    ([2, 1, 1, 2], {"num_replicas": 2, "device_order_mode": DeviceOrderMode.RING}, "RING takes.*Use DeviceOrderMode"),
    ([2, 1, 2], {"num_replicas": 4, "device_order_mode": DeviceOrderMode.RING}, "a mesh of rank 4"),
])  # fmt: skip
def test_rule_21_what_does_not_fit(mesh, arguments, message):
    with pytest.raises(ValueError, match=message):
        DeviceAssignment.build(full(mesh), **arguments)


def test_missing_devices():
    topology = full([2, 2, 1, 2], missing=2)
    assert DeviceAssignment.build(topology, [1, 1, 1, 2], num_replicas=3).core_assignment.shape == (3, 2, 4)
    with pytest.raises(ValueError, match="4 replicas of 2 cores were asked for, but there are 6 devices; 2 of"):
        DeviceAssignment.build(topology, [1, 1, 1, 2], num_replicas=4)
    with pytest.raises(ValueError, match="must be ones where devices are missing"):
        DeviceAssignment.build(topology, computation_stride=[2, 1, 1, 1])


@pytest.mark.parametrize(("topology", "cores", "message"), [
    (None, [[[0, 0, 0, 0]]], "topology must be a Topology object, got NoneType"),
    (full([1, 1, 1, 2]), [[0, 0, 0, 0]], "rank 3 numpy array"),
    (full([1, 1, 1, 2]), [[[0, 0, 0]]], r"equal to topology rank \(4\)"),
    (full([1, 1, 1, 2]), [[[0, 0, 0, 2]]], r"must lie in the mesh \[1, 1, 1, 2\]; got \[0, 0, 0, 2\]"),
])  # fmt: skip
def test_what_is_no_assignment(topology, cores, message):
    with pytest.raises(ValueError, match=message):
        DeviceAssignment(topology, cores)
    with pytest.raises(ValueError, match="not a Topology object"):
        DeviceAssignment.build("topology")


def test_members():
    """Two tasks of a chip each, replicas over both: the values are those that 2.15 gives."""
    topology = Topology(
        mesh_shape=[2, 1, 1, 2],
        device_coordinates=[[[0, 0, 0, 0], [0, 0, 0, 1]], [[1, 0, 0, 0], [1, 0, 0, 1]]],
    )
    found = DeviceAssignment.build(topology.serialized(), [2, 1, 1, 1], num_replicas=2)
    assert (found.num_replicas, found.num_cores_per_replica, found.topology.num_tasks) == (2, 2, 2)
    assert found.coordinates(1, 1) == (1, 0, 0, 1)
    assert (found.lookup_replicas(0, 0), found.lookup_replicas(1, 1)) == ([0, 1], [0, 1])
    with pytest.raises(ValueError, match="any replica in task: 1 contains logical_core: 0"):
        found.lookup_replicas(1, 0)
    assert (found.tpu_ordinal(0, 1), found.tpu_ordinal(1, 1)) == (0, 1)
    assert found.host_device(1, 1) == "/task:1/device:CPU:0"
    assert found.tpu_device(1, 1, job="worker") == "/job:worker/task:1/device:TPU:1"
    assert tf1.contrib.tpu.DeviceAssignment is DeviceAssignment


# ---- JAX devices -------------------------------------------------------------------------------------------------


def test_devices_of_the_local_machine():
    topology = tf.tpu.experimental.initialize_tpu_system()
    count = len(jax.devices())
    assignment = DeviceAssignment.build(topology, num_replicas=count)
    assert sorted(d.id for (d,) in assignment.devices()) == sorted(d.id for d in jax.devices())
    cores = int(topology.mesh_shape[-1])
    chip = DeviceAssignment.build(topology, [1, 1, 1, cores], num_replicas=count // cores)
    assert chip.devices() == np.reshape(jax.devices(), (-1, cores)).tolist()


def test_devices_of_several_tasks():
    present = [SimpleNamespace(process_index=i // 2, number=i) for i in range(4)]
    topology = Topology(
        mesh_shape=[2, 1, 1, 2],
        device_coordinates=[[[0, 0, 0, 0], [0, 0, 0, 1]], [[1, 0, 0, 0], [1, 0, 0, 1]]],
    )
    found = DeviceAssignment.build(topology, [2, 1, 1, 1], num_replicas=2).devices(present)
    assert [[device.number for device in replica] for replica in found] == [[0, 2], [1, 3]]


def test_devices_that_are_not_there_or_taken():
    topology = full([64, 1, 1, 2])
    with pytest.raises(ValueError, match=r"Logical core 1 of replica 0 is at \[63, 0, 0, 0\], device 126 of task 0"):
        DeviceAssignment(topology, [[[0, 0, 0, 0], [63, 0, 0, 0]]]).devices()
    with pytest.raises(ValueError, match="Logical core 0 of replica 1 is at .*where logical core 0 of replica 0 is"):
        DeviceAssignment(topology, [[[0, 0, 0, 0]], [[0, 0, 0, 0]]]).devices()
