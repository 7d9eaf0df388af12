"""Starting and stopping a TPU system, as 1.x does it: the local devices are always started."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.platform import devices
from towerstrat.towers.cluster.topology import Topology, topology_of


def initialize_system(embedding_config: Any = None, job: str | None = None) -> Tensor:
    """A string: the topology of the local devices as bytes, for ``tf.contrib.tpu.Topology`` and ``device_assignment``.

    Its mesh has the axes (x, y, core), and z before core only where the devices have several planes.

    Args:
      embedding_config: None.
      job: changes nothing; the devices are local.

    Raises:
      UnsupportedError: an ``embedding_config`` was given.
    """
    if embedding_config is not None:
        raise UnsupportedError(
            "initialize_system(embedding_config=...): there are no TPU embedding tables; use tf.nn.embedding_lookup."
        )
    topology = topology_of(devices.devices())
    if topology.mesh_shape[2] == 1:
        topology = Topology(
            mesh_shape=np.delete(topology.mesh_shape, 2),
            device_coordinates=np.delete(topology.device_coordinates, 2, axis=-1),
        )
    return constant(topology.serialized(), name="ConfigureDistributedTPU")


def shutdown_system(job: str | None = None) -> Operation:
    """Changes nothing: the devices are JAX's. An operation that programs run last; ``job`` is that of their cluster."""
    return no_op(name="ShutdownDistributedTPU")
