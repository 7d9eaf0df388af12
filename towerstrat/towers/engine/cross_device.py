"""How devices add up their values, as programs say it to strategies. Here the compiler chooses: these keep the wish.

``tf.distribute`` calls the classes by what they do, ``tf.contrib.distribute`` by the context that they were for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ops.segments import add_n


class CrossDeviceOps:
    """The base of the ways."""

    def __init__(self) -> None:
        pass


class ReductionToOneDevice(CrossDeviceOps):
    """All values go to one device and their sum back to all.

    Args:
      reduce_to_device: its name; None: the first of the destinations.
      accumulation_fn: adds up a list of tensors; None is ``tf.add_n``.
    """

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Callable[..., Any] | None = None):
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn or add_n


class AllReduceCrossDeviceOps(CrossDeviceOps):
    """Devices exchange parts of their values.

    Args:
      all_reduce_alg: ``"nccl"`` or ``"hierarchical_copy"``.
      num_packs: into how many packs values are put; 0: they go one by one.
      agg_small_grads_max_bytes, agg_small_grads_max_group: smaller tensors go together, so many of them at most.

    Raises:
      ValueError: a negative ``num_packs``.
    """

    def __init__(
        self,
        all_reduce_alg: str = "nccl",
        num_packs: int = 1,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ):
        if num_packs < 0:
            raise ValueError(f"{type(self).__name__} takes num_packs from 0, got {num_packs}.")
        self.all_reduce_alg = all_reduce_alg
        self.num_packs = num_packs
        self.agg_small_grads_max_bytes = agg_small_grads_max_bytes
        self.agg_small_grads_max_group = agg_small_grads_max_group


class NcclAllReduce(AllReduceCrossDeviceOps):
    """``AllReduceCrossDeviceOps`` by NCCL."""

    def __init__(self, num_packs: int = 1):
        super().__init__("nccl", num_packs)


class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """``AllReduceCrossDeviceOps`` by copies along a hierarchy of devices."""

    def __init__(self, num_packs: int = 1):
        super().__init__("hierarchical_copy", num_packs)
