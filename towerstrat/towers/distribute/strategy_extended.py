"""``strategy.extended``: the methods of a strategy that are for libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.functions.polymorphic import Function
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.device_names import canonical
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.graph.ops.math.arithmetic import cast, truediv
from towerstrat.graph.variables.variables import Variable
from towerstrat.towers.distribute.per_replica_values import mirrored_values
from towerstrat.towers.distribute.python_results import unwrapped, wrapped
from towerstrat.towers.distribute.reduce_op import AGGREGATIONS, ReduceOp, reduce_op_of
from towerstrat.towers.distribute.reduction_checks import check_numbers, checked_dimension, entries, summed
from towerstrat.towers.distribute.replica_context import ReplicaContext, require_cross_replica
from towerstrat.towers.distribute.replica_variables import ReplicaVariable
from towerstrat.towers.engine import tower_contexts
from towerstrat.towers.engine.distributed_values import DistributedValues, Mirrored, PerDevice, value_container
from towerstrat.towers.engine.engine import Engine
from towerstrat.towers.engine.symbolic_tower_id import TowerId

_FUNCTIONS = 100
"""So many functions a strategy keeps the traces of: the last ones."""


class StrategyExtended:
    """Methods of a strategy that libraries use; programs use the strategy's own.

    Args:
      container_strategy: the strategy, which has its engine already.

    Raises:
      UnsupportedError: it has none.
    """

    def __init__(self, container_strategy: Any):
        engine: Engine | None = getattr(container_strategy, "_engine", None)
        if engine is None:
            raise UnsupportedError(
                "StrategyExtended of a strategy of your own: strategies are views of towers here. Derive from "
                "tf.distribute.OneDeviceStrategy or tf.distribute.TPUStrategy."
            )
        self._strategy = container_strategy
        self._engine = engine
        self._functions: dict[Any, Function] = {}
        self._asks_for_empty_batches = True

    def _container_strategy(self) -> Any:
        return self._strategy

    @property
    def _global_batch_size(self) -> bool:
        """Whether batches of datasets are those of all replicas together."""
        return True

    @property
    def _mapped(self) -> bool:
        """Whether there are several replicas."""
        return self._engine.mapped

    @property
    def _on_several_devices(self) -> bool:
        """Whether there are several replicas, or several devices for one."""
        axis = self._engine.axis
        return axis is not None and axis.needs_mesh

    def _carried(self, key: Any, function: Callable[..., Any], *args: Any) -> Any:
        """Calls a function of all replicas; where operations are executed eagerly it is traced first.

        Args:
          key: what the function does, besides its arguments.
        """
        if not self._on_several_devices or not get_default_graph().executing_eagerly:
            return function(*args)
        found = self._functions.get(key)
        if found is None:
            name = getattr(function, "__name__", "step").strip("<>")

            def traced(*given: Any) -> Any:
                return wrapped(function(*given))

            found = self._functions[key] = Function(traced, name, autograph=False, always=True)
            if len(self._functions) > _FUNCTIONS:
                del self._functions[next(iter(self._functions))]
        with self._strategy.scope():
            return unwrapped(found(*args))

    # ---- running ---------------------------------------------------------------------------------------------

    def _calls_each(self, fn: Callable[..., Any]) -> bool:
        """Whether ``fn`` is executed operation by operation for one replica after the other."""
        return False

    def _run(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """``fn`` on every replica, in a graph or on a single replica."""
        with self._strategy.scope():
            return self._engine.call_for_each_tower(fn, *args, **kwargs)

    def _local_results(self, value: DistributedValues) -> tuple[Any, ...]:
        """The parts of a value that differs by replica, in the order of the replicas."""
        if isinstance(value, Mirrored) and not hasattr(value, "distribute_strategy"):
            return tuple([value.primary for _ in value.devices])
        return tuple([value._index[device] for device in value.devices])

    # ---- combining -------------------------------------------------------------------------------------------

    def _combine(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        """One leaf reduced over replicas: mirrored on the destinations where there are several replicas."""
        engine = self._engine
        if isinstance(value, Mirrored) and not isinstance(value, Variable):
            value = value.primary
        if not self._mapped:
            return value
        if isinstance(value, Tensor) and value.varies:
            value = engine.per_tower(value)
        if not isinstance(value, DistributedValues):
            return self._combine_plain(reduce_op, value)
        with self._strategy.scope():
            local = self._numbers(value)
            return engine.reduce(AGGREGATIONS[reduce_op], engine.per_tower(local), destinations)

    def _combine_all(self, reduce_op: ReduceOp, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """``_combine`` of several (value, destinations) pairs: those of the replicas together."""
        engine = self._engine
        found: dict[int, Any] = {}
        together: dict[int, tuple[Any, Any]] = {}
        with self._strategy.scope():
            for i, (value, destinations) in enumerate(pairs):
                value = engine.per_tower(value) if isinstance(value, Tensor) and value.varies else value
                if not self._mapped or not isinstance(value, PerDevice) or isinstance(value, Variable):
                    found[i] = self._combine(reduce_op, value, destinations)
                else:
                    together[i] = engine.per_tower(self._numbers(value)), destinations
            reduced = engine.batch_reduce(AGGREGATIONS[reduce_op], list(together.values()))
        found.update(zip(together, reduced, strict=True))
        return [found[i] for i in range(len(pairs))]

    def _numbers(self, value: DistributedValues) -> Any:
        """Each replica's part of a value, or its copy of a variable.

        Raises:
          TypeError: strings or truths, which have no sum.
        """
        local = value._own_read() if isinstance(value, ReplicaVariable) else self._engine.local_of(value)
        if not isinstance(local, IndexedSlices):
            local = convert_to_tensor(local.tensor() if isinstance(local, TowerId) else local)
            check_numbers(local)
        return local

    def _combine_plain(self, reduce_op: ReduceOp, value: Any) -> Any:
        """A value that all replicas share.

        Raises:
          ValueError: the sum of one; what each replica would add is not known.
        """
        if reduce_op is ReduceOp.MEAN or (isinstance(value, int | float) and value == 0):
            return value
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {reduce_op}. It is one "
            "value for all replicas: return it from a function that strategy.run calls, or multiply it yourself."
        )

    def _reduced(self, reduce_op: ReduceOp, value: Any, axis: Any) -> Any:
        """``Strategy.reduce`` of one leaf, in a graph or on a single replica."""
        if axis is None:
            return self._single(self._combine(reduce_op, value, "/device:CPU:0"))
        if value is None:
            raise ValueError("None values not supported: expected a value to reduce along an axis.")
        if reduce_op is ReduceOp.SUM:
            local = self._run(lambda v: summed(v, axis), (value,), {})
            return self._single(self._combine(ReduceOp.SUM, local, "/device:CPU:0"))
        parts = self._run(lambda v: (summed(v, axis), entries(v, axis)), (value,), {})
        total, count = (self._single(self._combine(ReduceOp.SUM, part, "/device:CPU:0")) for part in parts)
        return truediv(total, cast(count, total.dtype))

    def _own(self, value: Any) -> Any:
        """A value in a replica's context as a tensor of the replica. Raises ValueError for None."""
        if isinstance(value, IndexedSlices):
            return value
        if value is None:
            raise ValueError("None values not supported: expected what can be a tensor.")
        tensor = convert_to_tensor(value)
        # In the trace of one replica a tensor is its own part, or in a branch of the trace that of all: always a copy.
        alike = tensor.op.axis is None or get_default_graph().trace is not None
        return identity(tensor) if self._mapped and alike else tensor

    def _single(self, value: Any) -> Any:
        return value.primary if isinstance(value, Mirrored) and not isinstance(value, Variable) else value

    def _gathered(self, value: Any, axis: int) -> Any:
        """``Strategy.gather`` of one leaf, in a graph or on a single replica."""
        if isinstance(value, DistributedValues):
            local = value._own_read() if isinstance(value, ReplicaVariable) else self._engine.local_of(value)
            return self._engine.concatenated(local, axis)
        return value

    def _all_reduce(self, context: ReplicaContext, reduce_op: Any, value: Any, options: Any) -> Any:
        if not isinstance(reduce_op, ReduceOp | str):
            raise ValueError(f"`reduce_op` must be Reduce.SUM or Reduce.MEAN., got {reduce_op!r}.")
        op = reduce_op_of(reduce_op)
        flat = [self._own(v) for v in nest.flatten(value)]

        def merge_fn(strategy: Any, *values: Any) -> Any:
            with self._engine.differentiated_together():
                return self._combine_all(op, [(v, v) for v in values])

        return nest.pack_sequence_as(value, [_each(v) for v in context.merge_call(merge_fn, flat)])

    def _all_gather(self, context: ReplicaContext, value: Any, axis: int, options: Any) -> Any:
        flat = nest.flatten(value)
        for leaf in flat:
            if isinstance(leaf, IndexedSlices):
                raise NotImplementedError(
                    "all_gather does not support IndexedSlices: pass tf.convert_to_tensor(value), or reduce them."
                )
        flat = [self._own(v) for v in flat]
        axis = checked_dimension(axis)

        def merge_fn(strategy: Any, *values: Any) -> Any:
            with self._engine.differentiated_together():
                return [self._gathered(v, axis) for v in values]

        return nest.pack_sequence_as(value, [_each(v) for v in context.merge_call(merge_fn, flat)])

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
        """The replicas' values reduced to one, on the devices of ``destinations``.

        Args:
          reduce_op: ``ReduceOp.SUM`` or ``ReduceOp.MEAN``, or the name of one.
          value: a per-replica value with one tensor for each replica.
          destinations: a variable or a per-replica value, for a result that is mirrored on its devices; a device's
            name, for a single tensor; a list of names. All replicas' devices hold the result here.
          options: a ``CommunicationOptions``; how the sum is computed is the compiler's choice.
        """
        require_cross_replica(self._engine)
        op = reduce_op_of(reduce_op)
        found = self._carried(("reduce_to", op), lambda v: self._single(self._combine(op, v, "/device:CPU:0")), value)
        return self._placed(found, destinations)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Iterable[Any], options: Any = None) -> list[Any]:
        """``reduce_to`` of several (value, destinations) pairs together."""
        require_cross_replica(self._engine)
        op = reduce_op_of(reduce_op)
        pairs = list(value_destination_pairs)
        engine = self._engine

        def reduced(values: list[Any]) -> list[Any]:
            where = [engine.worker_devices if isinstance(v, DistributedValues) else "/device:CPU:0" for v in values]
            return [self._single(v) for v in self._combine_all(op, list(zip(values, where, strict=True)))]

        found = self._carried(("batch_reduce_to", op), reduced, [value for value, _ in pairs])
        return [self._placed(v, destinations) for v, (_, destinations) in zip(found, pairs, strict=True)]

    # ---- updating --------------------------------------------------------------------------------------------

    def update(
        self, var: Any, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """``fn(var, *args, **kwargs)`` for the copies of ``var``: arguments arrive as each replica's part.

        In a replica's context the replicas do it together, as in ``merge_call``.

        Args:
          var: a variable of this strategy; ``fn`` gets it, and assigns to each copy.
          group: whether the result is one operation or value for all devices, rather than a tuple of one for each.

        Raises:
          RuntimeError: in another strategy's context.
        """
        mode = tower_contexts.current_mode()
        if mode.engine is self._engine and mode.tower not in (None, tower_contexts.default_mode().tower):
            merged = ReplicaContext._of(mode.tower).merge_call
            return merged(lambda _, *a, **k: self.update(var, fn, a, k, group), args, kwargs)
        require_cross_replica(self._engine)
        given = tuple(args), dict(kwargs or {})
        with self._strategy.scope():
            if self._mapped and (_differs(var) or any(_differs(v) for v in nest.flatten(given))):
                result = self._on_copies(var, fn, *given)
            else:
                result = self._engine.update(var, fn, *given[0], **given[1])
        return self._updated(result, group)

    def _updated(self, result: Any, group: bool) -> Any:
        """The result of an update: values that are the same on all devices become mirrored."""
        result = nest.map_structure(lambda v: self._mirrored(v.primary) if _is_mirrored(v) else v, result)
        return result if group else nest.map_structure(self._strategy.experimental_local_results, result)

    def _mirrored(self, value: Any) -> Any:
        """One value on all replicas' devices."""
        return mirrored_values(value, self.worker_devices, self._engine.mesh_axis)

    def _placed(self, value: Any, destinations: Any) -> Any:
        """A value as it is on some devices: mirrored, unless they are one device or there is one replica."""
        if isinstance(destinations, tuple | list):
            several = len(destinations) > 1
        else:
            several = isinstance(destinations, DistributedValues)
        return self._mirrored(value) if several and self._mapped and isinstance(value, Tensor) else value

    def _on_copies(self, var: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """``fn`` on each replica's copy of a variable, traced."""
        engine = self._engine

        def updated(args: Any, kwargs: Any) -> Any:
            with get_default_graph().under(engine.axis), tower_contexts.UpdateContext(engine.worker_devices[0]):
                result = fn(value_container(var), *engine.local_of(args), **engine.local_of(kwargs))
            return engine.leaving(result)

        if not get_default_graph().executing_eagerly:
            return updated(args, kwargs)
        traced = Function(lambda *given: wrapped(updated(*given)), "update", autograph=False)
        return unwrapped(traced(args, kwargs))

    # ---- variables -------------------------------------------------------------------------------------------

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """A context manager: variables made inside live where ``colocate_with_variable`` does.

        Raises:
          RuntimeError: outside of ``scope()``. ValueError: not a variable of this strategy.
        """
        if tower_contexts.current_engine() is not self._engine:
            require_cross_replica(self._engine, or_default=False)
        if not self.variable_created_in_scope(colocate_with_variable):
            raise ValueError(
                "`colocate_vars_with` must only be passed a variable created in this tf.distribute.Strategy.scope(), "
                f"not: {colocate_with_variable!r}"
            )
        return self._engine.colocate_vars_with(colocate_with_variable)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made inside the strategy's ``scope()``."""
        variable = value_container(v)
        made_by = getattr(variable, "_engine", tower_contexts.default_engine())
        return isinstance(variable, Variable) and made_by is self._engine

    def value_container(self, value: Any) -> Any:
        """The variable that a component belongs to, otherwise the value itself."""
        return self._engine.value_container(value)

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether input must have static shapes: no, other shapes are compiled when they come."""
        return False

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """Where the replicas run, in their order."""
        return tuple([canonical(device) for device in self._engine.worker_devices])

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """Where variables live."""
        return tuple([canonical(device) for device in self._engine.parameter_devices])

    def _use_merge_call(self) -> bool:
        """Whether libraries have to merge replicas before they update variables: ``update`` merges by itself."""
        return False

    @property
    def _num_replicas_in_sync(self) -> int:
        return int(self._engine.num_towers)


class StrategyExtendedV1(StrategyExtended):
    """``StrategyExtended`` with what 1.14 and 1.15 had besides."""

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """``tensor`` mirrored on ``destinations``."""
        require_cross_replica(self._engine)
        return self._placed(convert_to_tensor(tensor), destinations)

    def call_for_each_replica(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """``fn(*args, **kwargs)`` in the context of each replica; per-replica arguments arrive as its part.

        Raises:
          RuntimeError: in a replica's context.
        """
        require_cross_replica(self._engine)
        return self._strategy._called(fn, args, kwargs)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        return self._strategy.experimental_make_numpy_dataset(numpy_input, session)

    def experimental_run_steps_on_iterator(
        self, fn: Callable[..., Any], iterator: Any, iterations: int = 1, initial_loop_values: Any = None
    ) -> Any:
        """``fn(context, inputs)`` run ``iterations`` times on successive elements: one step loop.

        Raises:
          RuntimeError: in a replica's context.
        """
        require_cross_replica(self._engine)
        return self._strategy._run_steps(fn, iterator, iterations, initial_loop_values)

    def non_slot_devices(self, var_list: Any) -> Any:
        """Where an optimizer's variables that belong to no single variable live."""
        found = self._engine.non_slot_devices(var_list)
        return tuple([canonical(device) for device in found]) if isinstance(found, list) else found

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None,
        group: bool = True,
    ) -> Any:  # fmt: skip
        """``fn(*args, **kwargs)`` on the devices that ``non_slot_devices`` returned."""
        require_cross_replica(self._engine)
        given = tuple(args), dict(kwargs or {})
        with self._strategy.scope():
            if self._mapped and any(_differs(v) for v in nest.flatten(given)):
                result = self._on_copies(None, lambda _, *a, **k: fn(*a, **k), *given)
            else:
                result = self._engine.update_non_slot(colocate_with, fn, *given[0], **given[1])
        return self._updated(result, group)

    def read_var(self, v: Any) -> Any:
        """The value of a variable; of one that is combined when read its sum or mean over replicas."""
        return self._engine.read_var(v)

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds a graph of its own: no."""
        return False

    def _in_multi_worker_mode(self) -> bool:
        """Whether a process has to do otherwise than the first one: no, whatever all write the first one writes."""
        return False

    @property
    def experimental_should_init(self) -> bool:
        return True

    @property
    def should_checkpoint(self) -> bool:
        return True

    @property
    def should_save_summary(self) -> bool:
        return True

    @property
    def experimental_enable_get_next_as_optional(self) -> bool:
        """Whether the program asks for batches of nothing where replicas have no data at the end.

        They get them in any case: False is a promise of full batches, which changes nothing where it is kept.
        """
        return self._asks_for_empty_batches

    @experimental_enable_get_next_as_optional.setter
    def experimental_enable_get_next_as_optional(self, enable: bool) -> None:
        self._asks_for_empty_batches = bool(enable)

    @property
    def worker_devices_by_replica(self) -> list[list[str]]:
        """Where each replica runs."""
        return [[device] for device in self.worker_devices]


def _each(value: Any) -> Any:
    """A value that all replicas have got, as each replica's own."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(identity(value.values), identity(value.indices), value.dense_shape)
    return identity(value)


def _is_mirrored(value: Any) -> bool:
    return isinstance(value, Mirrored) and not isinstance(value, Variable)


def _differs(value: Any) -> bool:
    """Whether a value, or a variable, has a part of its own on each replica."""
    value = value_container(value)
    return value.cell.is_varying if isinstance(value, Variable) else isinstance(value, PerDevice)
