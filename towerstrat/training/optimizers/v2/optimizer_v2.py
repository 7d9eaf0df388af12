"""``OptimizerV2`` of ``tf.contrib``: optimizers whose hooks are given their state and hyperparameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NoReturn

from towerstrat.graph.ir.default_graph import control_dependencies, init_scope, name_scope
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.variables.table_sums import deduplicate
from towerstrat.graph.variables.trackable import Position, TrackableReference
from towerstrat.graph.variables.variables import VariableAggregation
from towerstrat.towers.engine.distributed_values import value_container
from towerstrat.towers.engine.engine import CrossTower
from towerstrat.towers.engine.tower_contexts import current_engine, get_tower_context
from towerstrat.training.optimizers.between_graph_replication import over_workers
from towerstrat.training.optimizers.optimizer import Optimizer, as_gradient, get_processor, increment, record_train_op
from towerstrat.training.optimizers.v2.optimizer_state import OptimizerState, is_dynamic


class _States:
    """What an optimizer keeps, by graph. The optimizers that the towers make share one."""

    def __init__(self) -> None:
        self.by_graph: dict[Graph, OptimizerState] = {}


class OptimizerV2(Optimizer):
    """Base of the optimizers of ``tf.contrib.optimizer_v2``.

    It differs from ``tf.train.Optimizer`` in what its hooks get: ``state``, which has ``get_hyper(name, dtype)`` for
    what ``_set_hyper(name, value)`` was given (a number, a tensor, or a function that is called at each step),
    ``get_slot(var, name)`` and ``get_non_slot(name)``. ``_create_vars(var_list, state)`` makes the variables by
    ``state.zeros_slot``, ``state.create_slot``, ``state.create_slot_with_initializer`` and ``state.create_non_slot``;
    ``_finish(state)`` comes after the updates. All are called in cross-tower context, with summed gradients.

    Args:
      use_locking: changes nothing: the order of effects is fixed.
      name: prefix of the names of what the optimizer makes.

    >>> class SignDescent(OptimizerV2):
    ...     def __init__(self, rate):
    ...         super().__init__(False, "SignDescent")
    ...         self._set_hyper("rate", rate)
    ...
    ...     def _apply_dense(self, grad, var, state):
    ...         return var.assign_sub(state.get_hyper("rate", var.dtype) * tf.sign(grad))
    """

    def __init__(self, use_locking: bool, name: str):
        # Not the initializer of Optimizer: what that one keeps is in a state here.
        if type(self)._create_slots is not Optimizer._create_slots:
            raise RuntimeError(
                "Override _create_vars instead of _create_slots when descending from OptimizerV2 (class "
                f"{type(self).__name__})"
            )
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._hyper: dict[str, tuple[bool, Any]] = {}
        tower = get_tower_context()
        self._states: _States = _States() if tower is None else tower.merge_call(lambda _: _States())

    def _set_hyper(self, name: str, value: Any) -> None:
        """Keeps a hyperparameter: a number, a tensor, or a function that each step calls."""
        self._hyper[name] = (is_dynamic(value), value)

    # ---- what users call -------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        stop_gradients: Any = None,
        scale_loss_by_num_towers: bool | None = None,
        scale_loss_by_num_replicas: bool | None = None,
    ) -> Any:
        """An operation that updates ``var_list`` to lower ``loss``: ``compute_gradients``, then ``apply_gradients``.

        Eagerly ``loss`` is a function, the variables are updated at once, and the result is None.

        Raises:
          ValueError: no variable has a gradient.
          RuntimeError: eagerly, a loss that is no function.
        """
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
            stop_gradients=stop_gradients,
            scale_loss_by_num_towers=scale_loss_by_num_towers,
            scale_loss_by_num_replicas=scale_loss_by_num_replicas,
        )
        return self._apply_those_of(loss, grads_and_vars, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
        stop_gradients: Any = None,
        scale_loss_by_num_towers: bool | None = None,
        scale_loss_by_num_replicas: bool | None = None,
    ) -> list[tuple[Any, Any]]:
        """The gradients of ``loss``, as (gradient, variable) pairs; see ``Optimizer.compute_gradients``.

        Args:
          stop_gradients: tensors that gradients are not taken through. Changes nothing where ``loss`` is a function.
          scale_loss_by_num_towers: whether the loss is divided by the number of towers; default: unless the last loss
            of ``tf.losses`` was a sum.
          scale_loss_by_num_replicas: the same, as 1.13 called it.
        """
        scale = scale_loss_by_num_replicas if scale_loss_by_num_towers is None else scale_loss_by_num_towers
        return self._gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss,
            stop_gradients, scale,
        )  # fmt: skip

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """An operation that applies gradients to variables, then adds one to ``global_step`` if it is given.

        Eagerly the variables are updated at once, and the result is None. It is a ``merge_call`` of
        ``_distributed_apply``, also where no strategy is in scope.

        Raises:
          ValueError: there are no pairs, or none has a gradient.
          TypeError: a gradient is no tensor.
          RuntimeError: called in cross-tower context.
        """
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        given = tuple((g, v) for g, v in pairs if g is not None)
        if not given:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        tower = get_tower_context()
        if tower is None:
            word = current_engine().word
            raise RuntimeError(f"Use `_distributed_apply()` instead of `apply_gradients()` in a cross-{word} context.")
        given = tuple(zip(over_workers(given), [v for _, v in given], strict=True))
        return tower.merge_call(self._distributed_apply, given, global_step=global_step, name=name)

    def _distributed_apply(
        self,
        distribution: CrossTower,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """``apply_gradients`` for cross-tower context: sums gradients over towers, then updates each variable."""
        pairs = list(grads_and_vars)
        var_list = [v for _, v in pairs]
        for v in var_list:
            if isinstance(v, Tensor):
                raise NotImplementedError("Trying to update a Tensor ", v)
        reduced = distribution.batch_reduce(VariableAggregation.SUM, pairs)
        with name_scope(name, self._name) as scope:
            devices = distribution.non_slot_devices(var_list)
            state = self._state_of(var_list).at_step(self._hyper, distribution, devices)
        with init_scope():
            self._create_vars(var_list, state)

        def update(v: Any, g: Any) -> Any:
            g = as_gradient(g)
            with name_scope(f"update_{v.op.name}"):
                return get_processor(v).update_op(self, g, state)

        with name_scope(scope):
            self._prepare(state)
            updates = [
                op
                for grad, var in zip(reduced, var_list, strict=True)
                for op in distribution.update(var, update, grad, grouped=False)
            ]
            updated = group(*updates)
            with control_dependencies([updated]):
                finished = distribution.update_non_slot(devices, lambda: self._finish(state), grouped=False)
            if finished == [None]:
                finished = [updated]
            if global_step is None:
                return record_train_op(distribution.group(finished, name=scope))
            with control_dependencies(finished):
                return record_train_op(distribution.update(global_step, increment, 1, name=scope))

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot called ``name`` of a variable, or None."""
        found = (state.get_slot(var, name) for state in self._states.by_graph.values())
        return next((slot for slot in found if slot is not None), None)

    def get_slot_names(self) -> list[str]:
        state = self._get_per_graph_state()
        return [] if state is None else state.get_slot_names()

    def variables(self) -> list[Any]:
        """What the optimizer keeps in the default graph (or the one around a function), slots and others, by name."""
        state = self._get_per_graph_state()
        return [] if state is None else state.variables()

    # ---- states ----------------------------------------------------------------------------------------------

    def _get_per_graph_state(self) -> OptimizerState | None:
        """What is kept for the default graph (or the one around a function); None: nothing yet."""
        return self._states.by_graph.get(get_default_graph().home)

    def _state_of(self, var_list: Sequence[Any] | None = None) -> OptimizerState:
        """What is kept for the graph of variables, by default the default one; made if it is not there yet."""
        graph = value_container(var_list[0]).graph.home if var_list else get_default_graph().home
        states = self._states.by_graph
        if graph not in states:
            states[graph] = OptimizerState(self._name, self._hyper, self._handle_deferred_dependencies)
        return states[graph]

    # ---- checkpoints -----------------------------------------------------------------------------------------

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> NoReturn:
        raise NotImplementedError(
            f"Optimizers may not have dependencies. {name!r} cannot become one of an OptimizerV2, which has its own "
            "variables alone: give it to the tf.train.Checkpoint beside the optimizer."
        )

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """What it keeps besides slots in the default graph (or the one around a function), by name."""
        state = self._get_per_graph_state()
        return [] if state is None else [TrackableReference(name, v) for name, v in state.non_slots()]

    @property
    def _deferred_dependencies(self) -> dict[str, list[Position]]:
        return self._state_of().deferred_dependencies

    def _lookup_dependency(self, name: str, cached_dependencies: Any = None) -> Any:
        state = self._get_per_graph_state()
        return None if state is None else state.get_non_slot(name)

    def _create_or_restore_slot_variable(self, slot_variable_position: Any, slot_name: str, variable: Any) -> Any:
        return self._state_of([variable]).restored_slot(slot_variable_position, slot_name, variable)

    # ---- hooks -----------------------------------------------------------------------------------------------

    def _create_vars(self, var_list: Sequence[Any], state: Any) -> None:
        """Makes the slots that the variables need, and other variables. None by default."""

    def _prepare(self, state: Any) -> None:  # type: ignore[override]
        """What comes before the updates. Nothing by default."""

    def _apply_dense(self, grad: Tensor, var: Any, state: Any) -> Any:  # type: ignore[override]
        raise NotImplementedError(f"{type(self).__name__} has no rule for dense gradients (_apply_dense).")

    def _resource_apply_dense(self, grad: Tensor, handle: Any, state: Any) -> Any:  # type: ignore[override]
        raise NotImplementedError(f"{type(self).__name__} has no rule for dense gradients (_resource_apply_dense).")

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: Any) -> Any:  # type: ignore[override]
        raise NotImplementedError(f"{type(self).__name__} has no rule for IndexedSlices (_apply_sparse).")

    def _resource_apply_sparse(  # type: ignore[override]
        self, grad: Tensor, handle: Any, indices: Tensor, state: Any
    ) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no rule for IndexedSlices (_resource_apply_sparse).")

    def _apply_sparse_duplicate_indices(  # type: ignore[override]
        self, grad: IndexedSlices, var: Any, state: Any
    ) -> Any:
        """Adds up rows that come more than once, then ``_apply_sparse``."""
        values, indices = deduplicate(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var, state)

    def _resource_apply_sparse_duplicate_indices(  # type: ignore[override]
        self, grad: Tensor, handle: Any, indices: Tensor, state: Any
    ) -> Any:
        """Adds up rows that come more than once, then ``_resource_apply_sparse``."""
        values, unique = deduplicate(grad, indices)
        return self._resource_apply_sparse(values, handle, unique, state)

    def _finish(self, state: Any) -> Any:  # type: ignore[override]
        """What comes after all variables are updated; returns an operation, or None."""
        return None

    _undefined_hooks: ClassVar[tuple[Any, ...]] = (_apply_dense, _apply_sparse)

    # ---- what only Optimizer has -----------------------------------------------------------------------------

    def _slot_dict(self, slot_name: str) -> NoReturn:
        self._refuse("_slot_dict", "state.get_slot")

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> NoReturn:
        self._refuse("_get_or_make_slot", "state.create_slot")

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> NoReturn:
        self._refuse("_get_or_make_slot_with_initializer", "state.create_slot_with_initializer")

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> NoReturn:
        self._refuse("_zeros_slot", "state.zeros_slot")

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> NoReturn:
        self._refuse("_create_non_slot_variable", "state.create_non_slot")

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> NoReturn:
        self._refuse("_get_non_slot_variable", "state.get_non_slot")

    def _non_slot_variables(self) -> NoReturn:
        self._refuse("_non_slot_variables", "variables")

    def _refuse(self, method: str, instead: str) -> NoReturn:
        raise NotImplementedError(f"{method}() method unsupported in OptimizerV2; use {instead}.")
