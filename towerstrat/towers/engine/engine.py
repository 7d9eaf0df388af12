"""The interface of engines: an engine is the object under a strategy, whichever surface the strategy belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn, Protocol

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.platform import messages


class CrossTower(Protocol):
    """The first argument of functions that run in cross-tower context: an engine, or the 1.x strategy over it.

    A program's strategy may override methods, so variables, optimizers and metrics call them here.
    """

    @property
    def engine(self) -> Engine: ...
    @property
    def num_towers(self) -> int: ...
    @property
    def is_single_tower(self) -> bool: ...
    @property
    def worker_devices(self) -> list[str]: ...
    def reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any: ...
    def batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]: ...
    def update(self, var: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
    def update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...
    def non_slot_devices(self, var_list: Sequence[Variable]) -> Any: ...
    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[Any]: ...
    def read_var(self, v: Any) -> Any: ...
    def unwrap(self, value: Any) -> list[Any]: ...
    def group(self, value: Any, name: str | None = None) -> Any: ...


class ReplicaView(Protocol):
    """A strategy of ``tf.distribute`` over an engine."""

    @property
    def extended(self) -> ReplicaExtended: ...
    @property
    def num_replicas_in_sync(self) -> int: ...
    @property
    def cluster_resolver(self) -> Any: ...
    def scope(self) -> AbstractContextManager[Any]: ...
    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any: ...
    def reduce(self, reduce_op: Any, value: Any, axis: Any) -> Any: ...
    def gather(self, value: Any, axis: int) -> Any: ...
    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any: ...
    def distribute_datasets_from_function(self, dataset_fn: Callable[..., Any], options: Any = None) -> Any: ...
    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any: ...
    def experimental_local_results(self, value: Any) -> tuple[Any, ...]: ...


class ReplicaExtended(Protocol):
    """The ``extended`` of such a strategy, as its contexts and variables use it."""

    _engine: Engine

    def _combine(self, reduce_op: Any, value: Any, destinations: Any) -> Any: ...
    def _use_merge_call(self) -> bool: ...
    def _all_reduce(self, context: Any, reduce_op: Any, value: Any, options: Any) -> Any: ...
    def _all_gather(self, context: Any, value: Any, axis: int, options: Any) -> Any: ...


class Engine:
    """Runs functions on towers, makes their variables, combines values, updates variables, feeds and loops.

    A strategy is a view of an engine: it has the names and messages of a version of TensorFlow, and requires the right
    context of its callers. An engine checks no context. This class itself implements nothing: it is the engine of a
    program's own subclass of ``DistributionStrategy``, which overrides the methods that it uses.

    Attributes:
      word: what messages call a tower.
      axis: the mesh axis whose positions are the towers; None for one tower that needs no axis.
      default_device: where operations are placed in the scope of a strategy; None: anywhere.
      tower_view: the strategy of 1.x over it, or the engine itself while there is none.
      replica_view: the strategy of ``tf.distribute`` over it, if there is one.
    """

    word = "tower"
    axis: Axis | None = None
    default_device: str | None = None
    own_gradients = False
    """Whether a tower's gradient through a combined value is that of its own ys, not of all towers' together."""
    uneven_input = False
    """Whether towers may get elements of different shapes from an iterator of 1.x."""
    reads_together = False
    """Whether ``read_value`` of a tower-local variable combines the towers' values in tower context too."""
    trains_estimator = False
    """Whether what is traced is a model of ``tf.estimator``, whose losses are divided on either surface."""

    def __init__(self) -> None:
        self.tower_view: CrossTower = self
        self.replica_view: ReplicaView | None = None

    @property
    def engine(self) -> Engine:
        return self

    @property
    def divides_losses(self) -> bool:
        """Whether optimizers divide a mean loss by the number of towers."""
        return True

    @contextmanager
    def differentiated_together(self) -> Iterator[None]:
        """Inside, values are combined whose gradient is the sum of the towers' gradients."""
        saved, self.own_gradients = self.own_gradients, False
        try:
            yield
        finally:
            self.own_gradients = saved

    @property
    def mapped(self) -> bool:
        """Whether there are several towers, so that what they run is traced for a mesh axis."""
        return self.axis is not None and self.axis.size > 1

    @property
    def mesh_axis(self) -> Axis:
        """The axis of an engine that has one. Raises RuntimeError for one tower without."""
        if self.axis is None:
            raise RuntimeError(f"{self!r} has one tower and no axis.")
        return self.axis

    # ---- variables -------------------------------------------------------------------------------------------

    def create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """The variable that the creators in scope lead to, placed or with a copy on each tower."""
        _refuse()

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[Any]:
        """A context manager: variables made inside live where ``colocate_with_variable`` does."""
        _refuse()

    def read_var(self, v: Any) -> Any:
        """The value of a variable; of a tower-local one its sum or mean over towers."""
        _refuse()

    def written(self, variable: Variable, type: str, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        """The inputs of an operation that writes a variable in tower context. See ``TraceContext.written``."""
        return inputs

    # ---- running ---------------------------------------------------------------------------------------------

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(*args, **kwargs)`` in tower context; distributed arguments arrive as each tower's part."""
        _refuse()

    def run_steps(self, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_loop_values: Any) -> Any:
        """``fn(context, *inputs)`` in a loop over an iterator's elements. Returns the context."""
        _refuse()

    def map(self, map_over: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``fn(m, *args, **kwargs)`` for each ``m`` of ``map_over``."""
        _refuse()

    def per_tower(self, local: Any) -> Any:
        """A value as the towers see it, as cross-tower context sees it."""
        return local

    def local_of(self, structure: Any) -> Any:
        """A structure of cross-tower context as one tower sees it."""
        return structure

    def leaving(self, structure: Any) -> Any:
        """A structure made in tower context as cross-tower context sees it."""
        return structure

    # ---- combining and updating ------------------------------------------------------------------------------

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """``tensor`` mirrored on ``destinations``, by default on all towers' devices."""
        _refuse()

    def reduce(self, aggregation: VariableAggregation, value: Any, destinations: Any) -> Any:
        """One value from a per-device value: its sum, its mean or its first part."""
        _refuse()

    def batch_reduce(self, aggregation: VariableAggregation, value_destination_pairs: Sequence[Any]) -> list[Any]:
        """``reduce`` of several (value, destinations) pairs."""
        return [self.reduce(aggregation, value, destinations) for value, destinations in value_destination_pairs]

    def concatenated(self, local: Any, axis: int) -> Tensor:
        """The towers' values joined along ``axis``, in the order of the towers."""
        return convert_to_tensor(local)

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any) -> Any:
        """``fn(var, *args, **kwargs)`` on the devices of ``var``; mirrored arguments are unwrapped.

        Args:
          grouped: whether the result is one value for all devices, rather than lists with an entry for each.
        """
        _refuse()

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], *args: Any, grouped: bool = True, **kwargs: Any
    ) -> Any:
        """``fn(*args, **kwargs)`` on the devices that ``non_slot_devices`` returned. Options as of ``update``."""
        _refuse()

    def rows_together(self, aggregation: VariableAggregation, indices: Any, updates: Any) -> Any:
        """The rows that all towers scatter, as one ``IndexedSlices``."""
        _refuse()

    def unwrap(self, value: Any) -> list[Any]:
        """The parts of a value, one per device; ``[value]`` for a plain one."""
        _refuse()

    def value_container(self, value: Any) -> Any:
        """The distributed value that a component belongs to, otherwise the value itself."""
        _refuse()

    def group(self, value: Any, name: str | None = None) -> Any:
        """One operation that runs all parts of a value."""
        return grouped(self.unwrap(value), name)

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def is_single_tower(self) -> bool:
        """Whether functions run for one tower only."""
        _refuse()

    @property
    def num_towers(self) -> int:
        _refuse()

    @property
    def worker_devices(self) -> list[str]:
        """Where the towers run, in their order."""
        _refuse()

    @property
    def parameter_devices(self) -> list[str]:
        """Where variables live."""
        _refuse()

    def non_slot_devices(self, var_list: Sequence[Variable]) -> Any:
        """Where an optimizer's variables that belong to no single variable live."""
        _refuse()

    @property
    def worker_device_index(self) -> Any:
        """Tower -> its number, an argument for ``call_for_each_tower``; 0 where there is one tower."""
        _refuse()

    def __deepcopy__(self, memo: dict[int, object]) -> Engine:
        """Itself, as a strategy's copy is the strategy."""
        return self

    def configure(self, session_config: messages.ConfigProto | None) -> None:
        """Adapts a session's configuration."""


def _refuse() -> NoReturn:
    raise NotImplementedError("must be implemented in descendants")


def grouped(parts: Sequence[Any], name: str | None) -> Any:
    """One operation that runs all parts; of a single part without a name its own operation. None eagerly."""
    flat = nest.flatten(parts)
    if get_default_graph().executing_eagerly:
        return None
    if len(flat) == 1 and name is None:
        return getattr(flat[0], "op", flat[0])
    return group(*flat, name=name)
