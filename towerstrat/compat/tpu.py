"""Starting and stopping a TPU system: the local devices are always started, so these operations do nothing."""

from __future__ import annotations

from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.core import Operation
from towerstrat.graph.ops.control_flow import no_op


def initialize_system(embedding_config: Any = None, job: str | None = None) -> Operation:
    """An operation that programs run first. ``job`` changes nothing: the devices are local.

    Raises:
      UnsupportedError: an ``embedding_config`` was given.
    """
    if embedding_config is not None:
        raise UnsupportedError(
            "initialize_system(embedding_config=...): there are no TPU embedding tables; use tf.nn.embedding_lookup."
        )
    return no_op(name="ConfigureDistributedTPU")


def shutdown_system(job: str | None = None) -> Operation:
    """An operation that programs run last. ``job`` changes nothing."""
    return no_op(name="ShutdownDistributedTPU")
