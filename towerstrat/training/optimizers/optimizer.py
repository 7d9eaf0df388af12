"""``Optimizer``: from a loss to an operation that updates variables, and the hooks that subclasses fill in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.default_graph import colocate_with, control_dependencies, init_scope, name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, bfloat16, float16, float32, float64, resource
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.ops.control.branches import tuple as gated
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.variables.table_sums import deduplicate
from towerstrat.graph.variables.trackable import Trackable, TrackableReference
from towerstrat.graph.variables.variables import GraphKeys, Variable, VariableAggregation, create_variable
from towerstrat.towers.engine.distributed_values import container_of
from towerstrat.towers.engine.engine import CrossTower
from towerstrat.towers.engine.tower_contexts import (
    current_distribution,
    current_engine,
    get_loss_reduction,
    has_distribution_strategy,
    in_cross_tower_context,
    merge_call,
    note_scaled_loss,
)
from towerstrat.training.base import slots
from towerstrat.training.optimizers.between_graph_replication import over_workers
from towerstrat.training.optimizers.slot_table import SlotTable


def get_filtered_grad_fn(grad_fn: Callable[..., Iterable[Any]]) -> Callable[..., list[Any]]:
    """``grad_fn`` without the pairs whose gradient is None."""

    def filtered(*args: Any, **kwargs: Any) -> list[Any]:
        return [(g, v) for g, v in grad_fn(*args, **kwargs) if g is not None]

    return filtered


class _OptimizableVariable:
    """What an optimizer asks of the things it optimizes."""

    def target(self) -> Any:
        """What gradients are taken with respect to."""
        raise NotImplementedError("Calling an abstract method.")

    def update_op(self, optimizer: Any, g: Any, *args: Any) -> Any:
        """Adds the update by a gradient. ``args`` are passed on to the optimizer's hooks."""
        raise NotImplementedError("Calling an abstract method.")


class _DenseResourceVariableProcessor(_OptimizableVariable):
    """For variables."""

    def __init__(self, v: Any):
        self._v = v

    def target(self) -> Any:
        return self._v

    def update_op(self, optimizer: Any, g: Any, *args: Any) -> Any:
        if isinstance(g, IndexedSlices):
            if self._v.constraint is not None:
                raise RuntimeError(
                    f"Cannot use a constraint function on a sparse variable: {self._v!r} is updated by rows. "
                    "Convert its gradient with tf.convert_to_tensor, or leave the constraint out."
                )
            return optimizer._call_sparse_hook(g, self._v, *args)
        update_op = optimizer._call_dense_hook(g, self._v, *args)
        if self._v.constraint is None:
            return update_op
        with control_dependencies([update_op]):
            return self._v.assign(self._v.constraint(self._v))


class _TensorProcessor(_OptimizableVariable):
    """For tensors: gradients with respect to them can be taken, updates cannot be made."""

    def __init__(self, v: Tensor):
        self._v = v

    def target(self) -> Any:
        return self._v

    def update_op(self, optimizer: Any, g: Any, *args: Any) -> Any:
        raise NotImplementedError("Trying to update a Tensor ", self._v)


def get_processor(v: Any) -> _OptimizableVariable:
    """What optimizes a variable or tensor. Raises NotImplementedError for anything else."""
    if isinstance(v, Variable) or getattr(getattr(v, "op", None), "type", None) == "VarHandleOp":
        return _DenseResourceVariableProcessor(v)
    if isinstance(v, Tensor):
        return _TensorProcessor(v)
    raise NotImplementedError("Trying to optimize unsupported type ", v)


def as_gradient(value: Any) -> Any:
    """A gradient as a tensor or IndexedSlices. Raises TypeError for anything else."""
    if isinstance(value, Tensor | IndexedSlices):
        return value
    try:
        return convert_to_tensor(value)
    except TypeError:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {value!r}") from None


def increment(var: Any, by: int, name: str | None = None) -> Any:
    """Adds the operation that counts a step."""
    return var.assign_add(convert_to_tensor(by, var.dtype), name=name, read_value=False)


def record_train_op(apply_updates: Any) -> Any:
    """The operation that stands for a step, kept in its collection; eagerly None, since the step is done."""
    graph = get_default_graph()
    if graph.executing_eagerly:
        return None
    if isinstance(apply_updates, Tensor):
        apply_updates = apply_updates.op
    train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
    if apply_updates not in train_ops:
        train_ops.append(apply_updates)
    return apply_updates


class Optimizer(Trackable):
    """Base of the optimizers: computes gradients of a loss and applies them to variables.

    A subclass says how one variable is updated by overriding ``_resource_apply_dense(grad, var)`` or
    ``_apply_dense(grad, var)``, and for gradients that are rows of an embedding ``_resource_apply_sparse(grad, var,
    indices)`` or ``_apply_sparse(grad, var)``; the hook of the more derived class is called, ``_resource_...`` where
    one class has both. ``_create_slots(var_list)`` makes what it keeps between steps, ``_prepare()`` the tensors of its
    hyperparameters, ``_finish(update_ops, name)`` what comes after all variables. All are called in cross-tower context
    under a strategy, with gradients already summed over towers.

    Args:
      use_locking: changes nothing: the order of effects is fixed.
      name: prefix of the names of what the optimizer makes.

    >>> class SignDescent(Optimizer):
    ...     def __init__(self, rate):
    ...         super().__init__(False, "SignDescent")
    ...         self._rate = rate
    ...
    ...     def _apply_dense(self, grad, var):
    ...         return var.assign_sub(self._rate * tf.sign(grad))
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots = SlotTable()
        self._non_slot_dict: dict[Any, Any] = {}

    def get_name(self) -> str:
        return self._name

    # ---- what users call -------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
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
        )
        return self._apply_those_of(loss, grads_and_vars, global_step, name)

    def _apply_those_of(self, loss: Any, grads_and_vars: list[Any], global_step: Any, name: str | None) -> Any:
        """``apply_gradients`` of the gradients of a loss. Raises ValueError where there is none."""
        if all(g is None for g, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """The gradients of ``loss``, as (gradient, variable) pairs.

        Under a strategy of several towers the loss is first divided by their number, unless the last loss of
        ``tf.losses`` was a sum; ``apply_gradients`` adds the towers' gradients up.

        Args:
          loss: a tensor, or a function without arguments that makes one (eagerly always a function).
          var_list: variables (default: the trainable ones; for a function those that it reads).
          gate_gradients: ``GATE_NONE``, ``GATE_OP`` or ``GATE_GRAPH``; changes no value.
          aggregation_method, colocate_gradients_with_ops: scheduling and placement; they change no value.
          grad_loss: the cotangent of ``loss``.

        Returns:
          Pairs whose gradient is a tensor, IndexedSlices, or None where the loss does not depend on the variable.

        Raises:
          ValueError: there is nothing to optimize, or a loss or variable is not of a floating type.
          RuntimeError: eagerly, a loss that is no function.
          NotImplementedError: ``var_list`` has something that is neither variable nor tensor.
        """
        return self._gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )

    def _gradients(
        self, loss: Any, var_list: Any, gate_gradients: int, aggregation_method: int | None,
        colocate_gradients_with_ops: bool, grad_loss: Any, stop_gradients: Any = None, scale: bool | None = None,
    ) -> list[tuple[Any, Any]]:  # fmt: skip
        """``compute_gradients`` of either version of optimizers.

        Args:
          stop_gradients: tensors that gradients are not taken through, where the loss is a tensor.
          scale: whether the loss is divided by the number of towers; None: where its reduction was a mean.
        """
        if callable(loss):
            return self._gradients_of_call(loss, var_list, grad_loss, scale)
        if get_default_graph().executing_eagerly:
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled: "
                f"minimize(lambda: loss_of(...), var_list), got {loss!r}. Or take gradients by a tf.GradientTape and "
                "call apply_gradients."
            )
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        loss = self._scaled(loss, scale)
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            grad_loss = convert_to_tensor(grad_loss, loss.dtype)
        if var_list is None:
            graph = get_default_graph()
            var_list = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
            var_list += graph.get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        var_list = nest.flatten(var_list)
        processors = [get_processor(v) for v in var_list]
        if not var_list:
            raise ValueError("No variables to optimize.")
        grads = gradients(
            loss,
            [p.target() for p in processors],
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == Optimizer.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            stop_gradients=stop_gradients,
        )
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = gated(grads)
        grads_and_vars = list(zip(grads, var_list, strict=True))
        self._assert_valid_dtypes([v for g, v in grads_and_vars if g is not None and v.dtype is not resource])
        return grads_and_vars

    def _gradients_of_call(
        self, loss_of: Callable[[], Any], var_list: Any, grad_loss: Any, scale: bool | None
    ) -> list[tuple[Any, Any]]:
        """``compute_gradients`` for what is computed while a function is called."""
        with GradientTape() as tape:
            if var_list is not None:
                var_list = nest.flatten(var_list)
                tape.watch([get_processor(v).target() for v in var_list])
            loss = self._scaled(loss_of(), scale)
        self._assert_valid_dtypes([loss])
        if var_list is None:
            var_list = tape.watched_variables()
        if grad_loss is not None:
            grad_loss = convert_to_tensor(grad_loss, loss.dtype)
        grads = tape.gradient(loss, var_list, grad_loss)
        grads_and_vars = list(zip(grads, var_list, strict=True))
        self._assert_valid_dtypes([v for g, v in grads_and_vars if g is not None])
        return grads_and_vars

    def _scaled(self, loss: Any, scale: bool | None) -> Tensor:
        loss = convert_to_tensor(loss)
        wanted = get_loss_reduction() is VariableAggregation.MEAN if scale is None else scale
        divided = has_distribution_strategy() and wanted
        num_towers = current_distribution().num_towers if divided else 1
        note_scaled_loss(num_towers > 1)
        return loss * (1.0 / num_towers) if num_towers > 1 else loss

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        """An operation that applies gradients to variables, then adds one to ``global_step`` if it is given.

        Eagerly the variables are updated at once, and the result is None. In tower context under a strategy this is a
        ``merge_call`` of ``_distributed_apply``.

        Args:
          grads_and_vars: (gradient, variable) pairs; those without a gradient (None) are left out.
          name: of the operation; default the optimizer's.

        Raises:
          ValueError: there are no pairs, or none has a gradient.
          TypeError: a gradient is no tensor.
          RuntimeError: called in cross-tower context.
        """
        if in_cross_tower_context():
            word = current_engine().word
            raise RuntimeError(f"Use `_distributed_apply()` instead of `apply_gradients()` in a cross-{word} context.")
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        pairs = tuple((g if g is None else as_gradient(g), v) for g, v in pairs)
        given = [(g, v, get_processor(v)) for g, v in pairs if g is not None]
        if not given:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        if has_distribution_strategy():
            wanted = [(g, v) for g, v, _ in given]
            return merge_call(self._distributed_apply, wanted, global_step, name)
        with init_scope():
            self._create_slots([v for _, v, _ in given])
        with name_scope(name, self._name) as scope:
            self._prepare()
            update_ops = []
            for grad, (_, var, processor) in zip(over_workers([(g, v) for g, v, _ in given]), given, strict=True):
                with name_scope(f"update_{var.op.name}"), colocate_with(var):
                    update_ops.append(processor.update_op(self, grad))
            if global_step is None:
                return record_train_op(self._finish(update_ops, scope))
            with control_dependencies([self._finish(update_ops, "update")]), colocate_with(global_step):
                return record_train_op(increment(global_step, 1, name=scope))

    def _distributed_apply(
        self,
        distribution: CrossTower,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """``apply_gradients`` for cross-tower context: sums gradients over towers, then updates each variable.

        Args:
          distribution: the strategy.
          grads_and_vars: (per-device gradient, variable) pairs.
        """
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        reduced = distribution.batch_reduce(VariableAggregation.SUM, pairs)
        var_list = [v for _, v in pairs]
        with init_scope():
            self._create_slots(var_list)

        def update(v: Any, g: Any) -> Any:
            g = as_gradient(g)
            with name_scope(f"update_{v.op.name}"):
                return get_processor(v).update_op(self, g)

        def finish(optimizer: Any, update_ops: list[Any]) -> Any:
            return optimizer._finish(update_ops, "update")

        with name_scope(name, self._name) as scope:
            self._prepare()
            update_ops = [
                op
                for grad, var in zip(reduced, var_list, strict=True)
                for op in distribution.update(var, update, grad, grouped=False)
            ]
            devices = distribution.non_slot_devices(var_list)
            finished = distribution.update_non_slot(devices, finish, self, update_ops, grouped=False)
            if global_step is None:
                return record_train_op(distribution.group(finished, name=scope))
            with control_dependencies(finished):
                return record_train_op(distribution.update(global_step, increment, 1, name=scope))

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot called ``name`` of a variable, or None."""
        slot = self._slots.find(var, name)
        if slot is not None and container_of(var) is not None:
            return slot.get(device=var.device)
        return slot

    def get_slot_names(self) -> list[str]:
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """What the optimizer keeps in the default graph (or the one around a function), slots and others, by name."""
        graph = get_default_graph().home
        kept = [*self._non_slot_variables(), *self._slots.slots()]
        return sorted((v for v in kept if v.op.graph is graph), key=lambda v: v.name)

    # ---- what subclasses use ---------------------------------------------------------------------------------

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """A variable of the optimizer itself, one per graph and name."""
        key = (name, colocate_with.graph.home)
        if key not in self._non_slot_dict:
            with current_distribution().colocate_vars_with(colocate_with):
                self._non_slot_dict[key] = create_variable(initial_value=initial_value, name=name, trainable=False)
            self._handle_deferred_dependencies(name, self._non_slot_dict[key])
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        variable = self._non_slot_dict.get((name, (graph or get_default_graph()).home))
        if variable is not None and container_of(variable) is not None:
            return variable.get()
        return variable

    def _non_slot_variables(self) -> Iterable[Any]:
        return self._non_slot_dict.values()

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.named(slot_name)

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """The slot, made with the tensor ``val`` as its initial value if it is not there yet."""
        return self._slots.ensure(var, slot_name, lambda: slots.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        """The slot, made by an initializer if it is not there yet."""
        return self._slots.ensure(
            var, slot_name, lambda: slots.create_slot_with_initializer(var, initializer, shape, dtype, op_name)
        )

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """The slot, made as zeros if it is not there yet."""
        return self._slots.ensure(var, slot_name, lambda: slots.create_zeros_slot(var, op_name))

    # ---- checkpoints -----------------------------------------------------------------------------------------

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """What it keeps besides slots in the default graph (or the one around a function), by name."""
        self._maybe_initialize_trackable()
        graph = get_default_graph().home
        kept = [TrackableReference(name, v) for (name, of), v in self._non_slot_dict.items() if of is graph]
        return super()._checkpoint_dependencies + sorted(kept, key=lambda reference: reference.name)

    def _lookup_dependency(self, name: str, cached_dependencies: Any = None) -> Any:
        return super()._lookup_dependency(name) or self._non_slot_dict.get((name, get_default_graph().home))

    def _create_or_restore_slot_variable(self, slot_variable_position: Any, slot_name: str, variable: Any) -> Any:
        """The slot that a checkpoint has a value for: eagerly made if it is not there yet; None: it waits for it."""

        def make() -> Any:
            value = convert_to_tensor(slot_variable_position.value())
            return slots.create_slot(variable, value, self._name)

        return self._slots.restored(slot_variable_position, slot_name, variable, make)

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _hyperparameter(self, value: Any, name: str) -> Tensor:
        """A number, tensor, or function that makes one, as a tensor."""
        return convert_to_tensor(self._call_if_callable(value), name=name)

    def _with_slots(self, var: Any, slot_names: Sequence[str]) -> list[Any]:
        return [var, *(self.get_slot(var, name) for name in slot_names)]

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        """Raises ValueError where a loss, variable or gradient is of a type that cannot be optimized."""
        valid = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in valid:
                raise ValueError(
                    f"Invalid type {tensor.dtype.base_dtype!r} for {tensor.name}, expected: "
                    f"{sorted(valid, key=lambda d: d.name)}."
                )

    def _valid_dtypes(self) -> set[DType]:
        return {float16, bfloat16, float32, float64}

    # ---- hooks -----------------------------------------------------------------------------------------------

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Makes the slots that the variables need. None by default."""

    def _prepare(self) -> None:
        """Makes the tensors that the updates use. None by default."""

    def _update(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Operation:
        """Adds the update of ``var`` by a gradient of its shape or, with ``indices``, by rows that do not repeat.

        An optimizer with one rule for both overrides this alone; the four hooks that follow call it.
        """
        kind, hook = ("dense gradients", "dense") if indices is None else ("IndexedSlices", "sparse")
        raise NotImplementedError(
            f"{type(self).__name__} has no rule for {kind} (_apply_{hook}, _resource_apply_{hook})."
        )

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        return self._update(grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        return self._update(grad, handle)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        return self._update(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._update(grad, handle, indices)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        """Adds up rows that come more than once, then ``_apply_sparse``."""
        values, indices = deduplicate(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        """Adds up rows that come more than once, then ``_resource_apply_sparse``."""
        values, unique = deduplicate(grad, indices)
        return self._resource_apply_sparse(values, handle, unique)

    def _resource_scatter_add(self, x: Any, i: Tensor, v: Tensor) -> Tensor:
        """Adds rows to a variable; its value afterwards."""
        with control_dependencies([x.scatter("Add", i, v)]):
            return x.value()

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """What comes after all variables are updated; returns the operation that stands for the whole."""
        return group(*update_ops, name=name_scope)

    def _call_dense_hook(self, grad: Tensor, var: Any, *args: Any) -> Any:
        if self._more_derived(["_apply_dense"], ["_resource_apply_dense"]):
            return self._apply_dense(grad, var, *args)
        try:
            return self._resource_apply_dense(grad, var, *args)
        except NotImplementedError:
            if type(self)._apply_dense in self._undefined_hooks:
                raise
            return self._apply_dense(grad, var, *args)

    def _call_sparse_hook(self, grad: IndexedSlices, var: Any, *args: Any) -> Any:
        if self._more_derived(
            ["_apply_sparse", "_apply_sparse_duplicate_indices"],
            ["_resource_apply_sparse", "_resource_apply_sparse_duplicate_indices"],
        ):
            return self._apply_sparse_duplicate_indices(grad, var, *args)
        try:
            return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices, *args)
        except NotImplementedError:
            if type(self)._apply_sparse in self._undefined_hooks:
                raise
            return self._apply_sparse_duplicate_indices(grad, var, *args)

    def _more_derived(self, names: Sequence[str], than: Sequence[str]) -> bool:
        """Whether one of the hooks ``names`` is overridden further down in the class tree than all of ``than``."""
        for cls in type(self).__mro__:
            if any(name in vars(cls) for name in than):
                return False
            if any(name in vars(cls) for name in names):
                return True
        return False

    _undefined_hooks: ClassVar[tuple[Any, ...]] = (_apply_dense, _apply_sparse)
    """The hooks of a base class, which say that a subclass has no rule."""
