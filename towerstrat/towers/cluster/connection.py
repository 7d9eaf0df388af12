"""Connecting to other machines, which programs here do not."""

from __future__ import annotations

from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.platform.addresses import taken_for_here
from towerstrat.towers.cluster.resolvers import ClusterResolver
from towerstrat.towers.cluster.spec import ClusterSpec

_INSTEAD = (
    "A program runs on the devices of one machine; several machines come later, with JAX's own multi-process runtime. "
    "Run it on the machine that has the devices."
)


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: Any,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol: str | None = None,
    make_master_device_default: bool = True,
    cluster_device_filters: Any = None,
) -> None:
    """Does nothing for the local machine: the local devices are there already.

    Args:
      cluster_spec_or_resolver: a resolver whose ``master()`` is '' or 'local', such as ``TPUClusterResolver('')``, or a
        cluster of at most one task.
      job_name, task_index, protocol, make_master_device_default, cluster_device_filters: how tasks reach each other;
        they change nothing.

    Raises:
      ValueError: neither a ClusterSpec nor a ClusterResolver.
      UnsupportedError: the cluster has several tasks.
    """
    if isinstance(cluster_spec_or_resolver, ClusterResolver):
        if cluster_spec_or_resolver.master() in ("", "local"):
            return
        spec = cluster_spec_or_resolver.cluster_spec()
    elif isinstance(cluster_spec_or_resolver, ClusterSpec):
        spec = cluster_spec_or_resolver
    else:
        raise ValueError(
            "`cluster_spec_or_resolver` must be a `ClusterSpec` or a `ClusterResolver`; "
            f"got {cluster_spec_or_resolver!r}."
        )
    if sum(spec.num_tasks(job) for job in spec.jobs) > 1:
        raise UnsupportedError(f"tf.config.experimental_connect_to_cluster({spec!r}): {_INSTEAD}")


def experimental_connect_to_host(remote_host: Any = None, job_name: str = "worker") -> None:
    """Does nothing but say so once: the devices of this machine are there already, and no others.

    Args:
      remote_host: an address, or several.
      job_name: changes nothing.

    Raises:
      ValueError: no ``remote_host``.
    """
    if not remote_host:
        raise ValueError("Must provide at least one remote_host.")
    taken_for_here(f"experimental_connect_to_host({remote_host!r})")
