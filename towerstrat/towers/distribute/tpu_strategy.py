"""``TPUStrategy`` of 2.x and of 1.14 and 1.15."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.collectives import sharding
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.cluster.tpu_system import TPUClusterResolver
from towerstrat.towers.distribute.one_by_one_extended import OneByOneExtended
from towerstrat.towers.distribute.replica_api import REPLICAS
from towerstrat.towers.distribute.replica_variables import ReplicaVariable
from towerstrat.towers.distribute.strategy import Strategy, StrategyV1
from towerstrat.towers.engine.distributed_values import DistributedValues, Mirrored
from towerstrat.towers.engine.tpu_engine import TPUEngine


class TPUExtended(OneByOneExtended):
    """``extended`` of a TPUStrategy.

    Attributes:
      steps_per_run: steps between returns to the host where a training loop of the library drives the strategy.
    """

    def __init__(self, container_strategy: Any, steps_per_run: int | None = None):
        super().__init__(container_strategy)
        self.steps_per_run = 1 if steps_per_run is None else steps_per_run

    @property
    def _tpu_cluster_resolver(self) -> Any:
        """The resolver of the strategy, which libraries ask for the address of sessions."""
        return self._container_strategy().cluster_resolver

    def _local_results(self, value: DistributedValues) -> tuple[Any, ...]:
        if get_default_graph().block.in_steps and not isinstance(value, Variable):
            # A step is one program for every core, in which there is one value: the core's own.
            return (value.primary if isinstance(value, Mirrored) else value.local,)
        return super()._local_results(value)

    @property
    def num_hosts(self) -> int:
        """The machines that replicas run on."""
        return jax.process_count()

    @property
    def num_replicas_per_host(self) -> int:
        """How many replicas each of them has."""
        return self._num_replicas_in_sync // self.num_hosts


def _check_variables(fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> None:
    """Raises ValueError for a variable among the arguments that have no name: TPU programs take variables by name."""
    given = [*args, *kwargs.values()]
    if not any(isinstance(leaf, ReplicaVariable) for leaf in nest.flatten(given)):
        return
    signature = inspect.signature(fn)
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        kind = signature.parameters[name].kind
        if kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY):
            continue
        for leaf in nest.flatten(value):
            if isinstance(leaf, ReplicaVariable):
                raise ValueError(
                    f"TPUStrategy.run() takes variables by the names of arguments, and {leaf.name} (made at "
                    f"{leaf.created_at}) is passed to the {kind.description} argument `{name}` of {fn!r}. Name the "
                    "argument, or use the variable in the function without passing it."
                )


class _OnTPUs:
    """A mixin of the TPU strategies of all versions."""

    _resolver: Any

    @property
    def cluster_resolver(self) -> Any:
        """The resolver that was given, or the local machine's."""
        return self._resolver

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """``Strategy.run``.

        Raises:
          ValueError: a variable is passed in ``*args``, or to a positional-only argument.
        """
        if isinstance(args, list | tuple):
            _check_variables(fn, args, dict(kwargs or {}))
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
        self._resolver = tpu_cluster_resolver or TPUClusterResolver("")
        self._engine = TPUEngine.on(_devices(self._resolver, experimental_device_assignment), REPLICAS)
        super().__init__(TPUExtended(self))

    def experimental_assign_to_logical_device(self, tensor: Any, logical_device_id: int) -> Any:
        """Says that a tensor belongs to one of its replica's devices.

        It is checked and noted down. The value is computed on every logical device of the replica: to be on one alone
        cannot be said to the compiler.

        Raises:
          ValueError: there is no such device.
        """
        return sharding.assign_to(convert_to_tensor(tensor), self._engine.mesh_axis, logical_device_id)

    def experimental_split_to_logical_devices(self, tensor: Any, partition_dimensions: Sequence[int]) -> Any:
        """Divides a tensor over its replica's devices, and what is computed from it with it.

        Args:
          partition_dimensions: for each dimension into how many parts; their product is the number of devices.

        Raises:
          ValueError: not one number per dimension, another product, or a size that does not divide.
        """
        return sharding.split_over(convert_to_tensor(tensor), self._engine.mesh_axis, partition_dimensions)

    def experimental_replicate_to_logical_devices(self, tensor: Any) -> Any:
        """Says that each of its replica's devices has the whole tensor."""
        return sharding.replicate(convert_to_tensor(tensor), self._engine.mesh_axis)


class ExperimentalTPUStrategy(TPUStrategy):
    """``tf.distribute.experimental.TPUStrategy`` of 2.x, and of ``tf.compat.v2`` in 1.15.

    Args:
      tpu_cluster_resolver: which machine; None is the local one.
      device_assignment: how many replicas there are, and on which devices; None: one on each device.
    """

    def __init__(self, tpu_cluster_resolver: Any = None, device_assignment: Any = None):
        super().__init__(tpu_cluster_resolver, device_assignment)


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
        self._resolver = tpu_cluster_resolver or TPUClusterResolver("")
        self._engine = TPUEngine.on(_devices(self._resolver, device_assignment), REPLICAS)
        extended = TPUExtended(self, steps_per_run)
        super().__init__(extended)
        self._steps_per_run = extended.steps_per_run

    @property
    def steps_per_run(self) -> int:
        return self._steps_per_run


def _devices(resolver: Any, assignment: Any) -> Sequence[Any]:
    """The devices of the replicas: one for each, or a list for each.

    Raises:
      TypeError: not a resolver.
    """
    if not hasattr(resolver, "devices"):
        raise TypeError(
            f"Expected a tf.distribute.cluster_resolver.TPUClusterResolver, got {resolver!r}. "
            "TPUClusterResolver(tpu='') is the local machine."
        )
    present = resolver.devices()
    found: Sequence[Any] = present if assignment is None else assignment.devices(present)
    return found
