"""Writes device_assignments.json: where the original lays replicas, or the type of its error.

2.15 answers for meshes of rank 4 and for the topologies' bytes, 1.12 for those of rank 3. A core's place is written as
one number, the last axis fastest.
"""

import itertools
import random

import numpy as np
import tensorflow as tf
from goldens import make

RUNS = ["1.12", "2.15"]
LATER = tf.__version__.startswith("2.")


def coordinates(mesh, tasks=1, left_out=0):
    """The places of a mesh, x first and core fastest, without the last ones; so many tasks have them."""
    axes = [range(size) for size in mesh]
    places = [(*place[::-1], core) for place in itertools.product(*axes[-2::-1]) for core in axes[-1]]
    places = places[: len(places) - left_out]
    return np.asarray(places).reshape((tasks, -1, len(mesh))).tolist()


if LATER:
    from tensorflow.python.tpu.device_assignment import DeviceOrderMode, device_assignment

    Topology = tf.tpu.experimental.Topology
    MESHES = [[1, 1, 1, 1], [1, 1, 1, 2], [2, 1, 1, 2], [4, 1, 1, 2], [3, 1, 1, 1], [2, 2, 1, 2], [4, 2, 1, 2],
              [4, 4, 1, 2], [2, 2, 2, 2], [4, 4, 4, 1], [2, 4, 2, 2], [3, 2, 1, 2], [1, 4, 4, 2], [4, 1, 4, 1],
              [6, 4, 2, 2]]  # fmt: skip
else:
    from tensorflow.contrib.tpu import Topology, device_assignment

    MESHES = [[1, 1, 1], [1, 1, 2], [2, 1, 2], [4, 1, 2], [3, 1, 1], [2, 2, 2], [4, 2, 2], [4, 4, 2], [3, 2, 2]]


def built(topology, case):
    options = {"device_order_mode": DeviceOrderMode[case["order"]]} if LATER else {}
    try:
        found = device_assignment(topology, case["shape"], case["stride"], case["replicas"], **options)
        return np.ravel_multi_index(found.core_assignment.T, topology.mesh_shape).T.tolist()
    except Exception as error:
        return "raises " + type(error).__name__


def cases(mesh, missing):
    """Shapes, strides, replicas and orders: a sample."""
    draw = random.Random(repr(mesh))
    sizes = [sorted({1, 2, size}) for size in mesh]
    blocks = [block for block in itertools.product(*sizes) if np.all(np.asarray(block) <= mesh)]
    for shape in draw.sample(blocks, min(len(blocks), 10)):
        strides = [block for block in blocks if np.all(np.multiply(shape, block) <= mesh)]
        for stride in draw.sample(strides, min(len(strides), 1 if missing else 3)):
            most = int(np.prod(np.asarray(mesh) // (np.asarray(shape) * stride) * stride))
            for replicas in sorted({1, 2, most, max(most // 2, 1), draw.randint(1, max(most, 1)), most + 1}):
                full = LATER and not missing and replicas == most and stride == (1,) * len(mesh)
                for order in ("AUTO", "RING", "MESH") if full else ("AUTO",):
                    yield {"shape": list(shape), "stride": list(stride), "replicas": replicas, "order": order}
    yield {"shape": None, "stride": None, "replicas": 1, "order": "AUTO"}
    yield {"shape": None, "stride": [2 * size for size in mesh], "replicas": 1, "order": "AUTO"}
    yield {"shape": [0] * len(mesh), "stride": None, "replicas": 1, "order": "AUTO"}
    yield {"shape": None, "stride": [1, 1], "replicas": 1, "order": "AUTO"}
    if not missing:
        yield {"shape": None, "stride": None, "replicas": 0, "order": "AUTO"}


topologies = []
for mesh in MESHES:
    count = int(np.prod(mesh))
    for tasks, missing in [(1, 0)] + [(2, 0)] * (count in (8, 16)) + [(1, 2)] * (LATER and count > 4):
        devices = coordinates(mesh, tasks, missing)
        topology = Topology(mesh_shape=mesh, device_coordinates=devices)
        made = [[list(case.values()), built(topology, case)] for case in cases(mesh, missing)]
        topologies.append({"mesh": mesh, "devices": devices, "bytes": topology.serialized().hex(), "cases": made})
make("device_assignments", {"2.15" if LATER else "1.12": topologies})
