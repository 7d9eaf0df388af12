"""Connecting to other machines: each runs the program itself, and has joined the others before it begins."""

from __future__ import annotations

from typing import Any

from towerstrat.platform.addresses import taken_for_here
from towerstrat.towers.cluster.cluster_resolvers import ClusterResolver
from towerstrat.towers.cluster.cluster_spec import ClusterSpec
from towerstrat.towers.cluster.task_processes import require_processes


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: Any,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol: str | None = None,
    make_master_device_default: bool = True,
    cluster_device_filters: Any = None,
) -> None:
    """Does nothing: the devices of this machine, and of the other processes of the run, are there already.

    Args:
      cluster_spec_or_resolver: a resolver whose ``master()`` is '' or 'local', such as ``TPUClusterResolver('')``, or a
        cluster whose tasks that train are the processes of this run.
      job_name, task_index, protocol, make_master_device_default, cluster_device_filters: how tasks reach each other;
        they change nothing.

    Raises:
      ValueError: neither a ClusterSpec nor a ClusterResolver.
      UnsupportedError: the cluster has other tasks.
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
    require_processes("tf.config.experimental_connect_to_cluster", spec)


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
