"""``TPUStrategy`` of 2.x and of 1.14 and 1.15."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.core import get_default_graph
from towerstrat.graph.functions.polymorphic import Function
from towerstrat.platform import devices
from towerstrat.towers.distribute.engine import Replicas
from towerstrat.towers.distribute.extended import StrategyExtended, StrategyExtendedV1
from towerstrat.towers.distribute.strategy import Strategy, StrategyV1


class TPUExtended(StrategyExtended):
    """``extended`` of a TPUStrategy."""


class TPUExtendedV1(StrategyExtendedV1, TPUExtended):
    """``extended`` of a TPUStrategy of 1.14 and 1.15."""


def _check_function(fn: Any) -> None:
    """Raises NotImplementedError for a function that would be executed operation by operation."""
    if get_default_graph().executing_eagerly and not isinstance(fn, Function) and not hasattr(fn, "python_function"):
        raise NotImplementedError(
            "TPUStrategy.run(fn, ...) does not support pure eager execution. please make sure the function passed into "
            "`strategy.run` is a `tf.function` or `strategy.run` is called inside a `tf.function` if eager behavior "
            "is enabled."
        )


class _OnTPUs:
    """What TPU strategies of all versions share: a mixin."""

    _resolver: Any

    @property
    def cluster_resolver(self) -> Any:
        """The resolver that was given, or the local machine's."""
        return self._resolver

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """``Strategy.run``. Where operations are executed eagerly, ``fn`` is a ``tf.function``.

        Raises:
          NotImplementedError: it is a plain function.
        """
        _check_function(fn)
        return super().run(fn, args, kwargs, options)  # type: ignore[misc]


class TPUStrategy(_OnTPUs, Strategy):
    """Synchronous training on every device of the machine, one replica on each, as on TPU cores.

    Args:
      tpu_cluster_resolver: which machine; None is the local one.
      experimental_device_assignment: how many replicas there are, and on which devices; None: one on each device.
      experimental_spmd_xla_partitioning: must be False: devices of one replica divide the work by
        ``experimental_split_to_logical_devices``.
    """

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        experimental_device_assignment: Any = None,
        experimental_spmd_xla_partitioning: bool = False,
    ):
        if experimental_spmd_xla_partitioning:
            raise UnsupportedError(
                "experimental_spmd_xla_partitioning=True is not supported. Give an experimental_device_assignment, and "
                "divide tensors with strategy.experimental_split_to_logical_devices."
            )
        self._resolver = tpu_cluster_resolver
        super().__init__(TPUExtended(self, Replicas(_devices(tpu_cluster_resolver, experimental_device_assignment))))


class TPUStrategyV1(_OnTPUs, StrategyV1):
    """``tf.distribute.experimental.TPUStrategy`` of 1.14 and 1.15.

    Args:
      tpu_cluster_resolver: which machine; None is the local one.
      steps_per_run: steps between returns to the host where a training loop of the library drives the strategy.
      device_assignment: how many replicas there are, and on which devices.
    """

    def __init__(
        self, tpu_cluster_resolver: Any = None, steps_per_run: int | None = None, device_assignment: Any = None
    ):
        self._resolver = tpu_cluster_resolver
        super().__init__(TPUExtendedV1(self, Replicas(_devices(tpu_cluster_resolver, device_assignment))))
        self._steps_per_run = 1 if steps_per_run is None else steps_per_run

    @property
    def steps_per_run(self) -> int:
        return self._steps_per_run


def _devices(resolver: Any, assignment: Any) -> Sequence[Any]:
    if assignment is not None:
        found: Sequence[Any] = assignment.devices()
        return found
    return list(devices.devices()) if resolver is None else resolver.devices()
