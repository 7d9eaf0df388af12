"""``TPUStrategy``: one tower per device, traced once and run on all of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.device import canonical
from towerstrat.graph.ir.elements import Block, Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops import collectives
from towerstrat.graph.ops.array import identity
from towerstrat.graph.ops.control_flow import no_op, region_is_uniform
from towerstrat.graph.variables.variables import Variable, VariableAggregation, VariableSynchronization
from towerstrat.towers.contrib.one_device import OneDeviceStrategy
from towerstrat.towers.engine import contexts
from towerstrat.towers.engine.inputs import PerDeviceDataset
from towerstrat.towers.engine.step_loop import run_steps
from towerstrat.towers.engine.tower_id import TowerId
from towerstrat.towers.engine.values import (
    DistributedValues,
    MapOutput,
    Mirrored,
    OwnDevice,
    PerDevice,
    mirrored,
    per_device,
    select_device_mirrored,
    value_container,
)
from towerstrat.towers.engine.variables import HOW, Component, TowerLocalVariable, make_variable

_INITIALIZE = "TPU_STRATEGY_INITIALIZE"


class TPUStrategy(OneDeviceStrategy):
    """Trains on every device of the machine, one tower on each, as the original did on TPU cores.

    The function given to ``call_for_each_tower`` is traced once; the trace runs on all towers.

    Args:
      tpu_cluster_resolver: which machine; ``TPUClusterResolver(tpu='')`` is the local one.
      steps_per_run: steps between returns to the host where a training loop of the library drives the strategy; its
        default is 100. ``run_steps_on_dataset`` is told its own number.
      num_cores: how many towers; default one per device.

    Raises:
      ValueError: more towers than devices, or fewer than one.
    """

    kind = "a distribution"
    """What messages call such a strategy."""

    def __init__(self, tpu_cluster_resolver: Any, steps_per_run: int | None = None, num_cores: int | None = None):
        super().__init__("/device:CPU:0")
        self._default_device = None
        if not hasattr(tpu_cluster_resolver, "devices"):
            raise TypeError(
                f"Expected a TPUClusterResolver, got {tpu_cluster_resolver!r}. Use TPUClusterResolver(tpu='')."
            )
        self._resolver = tpu_cluster_resolver
        self.steps_per_run = _positive("steps_per_run", 100 if steps_per_run is None else steps_per_run)
        devices = tpu_cluster_resolver.devices()
        count = len(devices) if num_cores is None else _positive("num_cores", num_cores)
        if count > len(devices):
            raise ValueError(
                f"num_cores={count}, but there {'is' if len(devices) == 1 else 'are'} {len(devices)} "
                f"{devices[0].platform} device(s). Run the program with `towerstrat run --towers {count}` for virtual "
                "CPU devices, or ask for fewer."
            )
        self._run_on(Axis(self.word, devices[:count]))

    def _run_on(self, axis: Axis) -> None:
        """Makes the positions of an axis the towers, each named by the first of its devices."""
        self._axis = axis
        self._devices = [canonical(f"/device:TPU:{i * axis.logical}") for i in range(axis.size)]

    @property
    def axis(self) -> Axis:
        """The mesh axis that the towers are positions of."""
        return self._axis

    def _mapped(self) -> bool:
        return self._axis.size > 1

    # ---- variables -------------------------------------------------------------------------------------------

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        kwargs.pop("colocate_with", None)
        kwargs.pop("caching_device", None)
        name = kwargs.get("name")
        synchronization = kwargs.get("synchronization", VariableSynchronization.AUTO)
        if synchronization == VariableSynchronization.NONE:
            raise ValueError(
                f"`NONE` variable synchronization mode is not supported with {self.kind} strategy. Please change the "
                f"`synchronization` for variable: {name}"
            )
        graph = get_default_graph()
        outer = graph.variable_maker
        graph.variable_maker = self._variable_maker(synchronization == VariableSynchronization.ON_READ)
        try:
            return next_creator(**kwargs)
        finally:
            graph.variable_maker = outer

    def _variable_maker(self, local: bool) -> Callable[..., Any]:
        """What makes a variable; ``local``: one of which every tower has its own."""
        return make_variable(self, self._axis, self._devices, local)

    def read_var(self, var: Any) -> Any:
        return identity(var)

    # ---- input -----------------------------------------------------------------------------------------------

    def distribute_dataset(self, dataset_fn: Callable[[], Any]) -> PerDeviceDataset:
        return PerDeviceDataset(
            self._call_dataset_fn(dataset_fn), self._devices, self._axis if self._mapped() else None
        )

    def _run_steps_on_dataset(self, fn: Any, iterator: Any, iterations: Any, initial_loop_values: Any = None) -> Any:
        return run_steps(
            self._axis if self._mapped() else None, self._devices, fn, iterator, iterations, initial_loop_values,
            fixed_shapes=True,
        )  # fmt: skip

    # ---- towers ----------------------------------------------------------------------------------------------

    def _call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("run_concurrently", None)
        graph = get_default_graph()
        with graph.under(self._axis), _TowerTrace(self, graph.block):
            result = fn(*self._for_tower(args), **self._for_tower(kwargs))
        return self._leaving(result)

    def _per_tower(self, local: Any) -> PerDevice:
        """What the towers see of a value, as cross-tower context sees it."""
        return per_device(local, self._devices, self._axis)

    def _for_tower(self, structure: Any) -> Any:
        """A structure as one tower sees it."""

        def own(value: Any) -> Any:
            if isinstance(value, Variable) or not isinstance(value, DistributedValues):
                return value
            if value.local is not None:
                return value.local
            if isinstance(value, Mirrored):
                return value.primary
            parts = [value.get(d) for d in self._devices]
            if not self._mapped():
                return parts[0]
            return collectives.distribute([convert_to_tensor(p) for p in parts], self._axis)

        return nest.map_structure(own, structure)

    def _leaving(self, structure: Any) -> Any:
        """A structure made in tower context as cross-tower context sees it."""
        if not self._mapped():
            return structure

        def wrap(value: Any) -> Any:
            if isinstance(value, TowerId):
                return self._per_tower(value)
            tensor = value.values if isinstance(value, IndexedSlices) else value
            if isinstance(tensor, Tensor) and tensor.op.axis is not None:
                return self._per_tower(value)
            return value_container(value)

        return nest.map_structure(wrap, structure)

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> MapOutput:
        contexts.require_cross_tower_context(self)
        return MapOutput([fn(m, *args, **kwargs) for m in map_over])

    def _worker_device_index(self) -> Any:
        return self._per_tower(TowerId(self._axis)) if self._mapped() else 0

    # ---- combining -------------------------------------------------------------------------------------------

    def _reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        devices = self._destinations(destinations)
        if isinstance(value, MapOutput):
            return super()._reduce(aggregation, value, destinations)
        if isinstance(value, Mirrored) and not isinstance(value, Variable):
            raise ValueError(
                f"{value!r} is the same on all towers already: reducing it again is refused. Use it as it is."
            )
        if not isinstance(value, DistributedValues):
            if isinstance(value, Tensor | IndexedSlices) and _in_towers(value):
                value = self._per_tower(value)
            else:
                return self._reduce_plain(aggregation, value, devices)
        local = self._for_tower(value) if not isinstance(value, TowerLocalVariable) else None
        if local is None:
            return identity(value)
        if not self._mapped():
            return local
        return mirrored(self._combined(aggregation, local), devices, self._axis)

    def _combined(self, aggregation: VariableAggregation, local: Any) -> Any:
        how = HOW[aggregation]
        with get_default_graph().under(None):
            if isinstance(local, IndexedSlices):
                return self._combined_rows(how, local)
            if isinstance(local, TowerId):
                local = local.tensor()
            return collectives.all_reduce(convert_to_tensor(local), self._axis, how)

    def _combined_rows(self, how: str, local: IndexedSlices) -> IndexedSlices:
        if how == "first":
            values = collectives.select(local.values, self._axis, 0)
            return IndexedSlices(values, collectives.select(local.indices, self._axis, 0), local.dense_shape)
        scaled = local.values * (1.0 / self._axis.size) if how == "mean" else local.values
        values = collectives.all_concat(scaled, self._axis)
        return IndexedSlices(values, collectives.all_concat(local.indices, self._axis), local.dense_shape)

    def _reduce_plain(self, aggregation: VariableAggregation, value: Any, devices: Sequence[str]) -> Any:
        """A value that all towers share."""
        if isinstance(value, int | float) and value == 0:
            return 0
        if aggregation in (VariableAggregation.MEAN, VariableAggregation.ONLY_FIRST_TOWER) or not self._mapped():
            return value
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given aggregation {aggregation}."
        )

    def _destinations(self, destinations: Any) -> list[str]:
        if isinstance(destinations, DistributedValues):
            return destinations.devices
        if isinstance(destinations, str):
            return [canonical(destinations)]
        if isinstance(destinations, list | tuple) and all(isinstance(d, str) for d in destinations):
            if not destinations:
                raise ValueError("destinations can not be empty")
            return [canonical(d) for d in destinations]
        if isinstance(destinations, Tensor | Variable | Component | IndexedSlices):
            return [canonical(destinations.device)] if destinations.device else list(self._devices)
        if not destinations:
            raise ValueError("destinations can not be empty")
        raise ValueError(
            "destinations must be one of a DistributedValues object, a tf.Variable object, or a device string or list, "
            f"got {destinations!r}."
        )

    def _broadcast(self, tensor: Any, destinations: Any) -> Any:
        devices = self._devices if destinations is None else self._destinations(destinations)
        if isinstance(tensor, DistributedValues):
            raise ValueError(f"Expected one tensor to broadcast, got {tensor!r}.")
        return mirrored(convert_to_tensor(tensor), devices, self._axis) if self._mapped() else tensor

    # ---- updating --------------------------------------------------------------------------------------------

    def _update(self, var: Any, options: dict[str, Any], fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        var = value_container(var)
        if not isinstance(var, Variable):
            raise TypeError(f"Expected a variable to update, got {var!r}.")
        return self._updated(options, lambda *a, **k: fn(var, *a, **k), args, kwargs)

    def _update_non_slot(
        self, colocate_with: Any, options: dict[str, Any], fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        return self._updated(options, fn, args, kwargs)

    def _updated(self, options: dict[str, Any], fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        device = self._devices[0]
        args, kwargs = select_device_mirrored(device, (args, kwargs))
        with contexts.UpdateContext(device):
            result = fn(*args, **kwargs)

        def merged(value: Any) -> Any:
            return mirrored(value, self._devices, self._axis) if isinstance(value, Tensor) and self._mapped() else value

        result = nest.map_structure(merged, result)
        return result if options["grouped"] else nest.map_structure(self._unwrap, result)

    # ---- parts -----------------------------------------------------------------------------------------------

    def _unwrap(self, distributed_value: Any) -> list[Any]:
        if isinstance(distributed_value, DistributedValues):
            return [distributed_value.get(d) for d in distributed_value.devices]
        if isinstance(distributed_value, list):
            return distributed_value
        return [distributed_value]

    def value_container(self, value: Any) -> Any:
        return value_container(value)

    # ---- what it is ------------------------------------------------------------------------------------------

    def initialize(self) -> list[Operation]:
        """Operations that the original set a TPU up with; here they do nothing and can be run as always."""
        graph = get_default_graph()
        if not graph.get_collection(_INITIALIZE):
            graph.add_to_collection(_INITIALIZE, no_op("ConfigureDistributedTPU"))
        return graph.get_collection(_INITIALIZE)

    def finalize(self) -> list[Operation]:
        return [no_op("ShutdownDistributedTPU")]

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        if session_config:
            session_config.isolate_session_state = True

    @property
    def is_single_tower(self) -> bool:
        return not self._mapped()

    @property
    def num_towers(self) -> int:
        return self._axis.size

    @property
    def num_hosts(self) -> int:
        return jax.process_count()

    @property
    def num_towers_per_host(self) -> int:
        return self._axis.size // jax.process_count()

    @property
    def worker_devices(self) -> list[str]:
        return list(self._devices)

    @property
    def parameter_devices(self) -> list[str]:
        return list(self._devices)

    def non_slot_devices(self, var_list: Any) -> list[str]:
        return list(self._devices)

    def get_host_cpu_device(self, host_id: int) -> str:
        """The name of a host's processor."""
        if self.num_hosts == 1:
            return "/replica:0/task:0/device:CPU:0"
        return f"/job:{self._resolver.get_job_name() or 'tpu_worker'}/task:{host_id}/device:CPU:0"

    def __repr__(self) -> str:
        return f"<TPUStrategy of {self._axis.size} towers>"


def _positive(name: str, value: Any) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    number = operator.index(value)
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}.")
    return number


def _in_towers(value: Any) -> bool:
    return (value.values if isinstance(value, IndexedSlices) else value).op.axis is not None


class _TowerTrace(contexts.TowerContext):
    """The tower context of a function that is traced once for all towers."""

    def __init__(self, strategy: TPUStrategy, block: Block):
        super().__init__(strategy, TowerId(strategy.axis) if strategy.axis.size > 1 else 0)
        self._block = block

    @property
    def device(self) -> str:
        contexts.require_tower_context(self)
        device = self._distribution_strategy.worker_devices[0]
        return OwnDevice(device) if self._distribution_strategy.num_towers > 1 else device

    def _merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        strategy: TPUStrategy = self._distribution_strategy
        graph = get_default_graph()
        if graph.block is not self._block and not region_is_uniform(self._block, graph.block):
            raise RuntimeError(
                "merge_call() inside a tf.cond or tf.while_loop whose condition may differ between "
                f"{strategy.word}s: the {strategy.word}s would wait for each other forever. Call it outside, or make "
                "the condition the same everywhere (reduce it first).\n"
                f"  the condition's region was created at: {graph.block.line}"
            )
        args, kwargs = strategy._leaving(args), strategy._leaving(kwargs)
        with graph.under(None), contexts.enter_cross_tower(strategy):
            result = merge_fn(strategy, *args, **kwargs)
        return strategy._for_tower(result)
