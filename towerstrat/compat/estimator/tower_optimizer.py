"""``TowerOptimizer``: an optimizer that collects the gradients of a replicated model, and applies them in the last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from towerstrat.compat.utilities.deprecation import deprecated
from towerstrat.graph.ir.default_graph import control_dependencies, device, name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ops.array.arrays import concat
from towerstrat.graph.ops.control.branches import no_op
from towerstrat.graph.ops.indexing.segments import add_n
from towerstrat.graph.ops.math.arithmetic import div
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.models.losses import Reduction
from towerstrat.training.optimizers.optimizer_wrapper import OptimizerWrapper

_STATES = "replicate_model_fn_graph_states"


class Replicas:
    """The towers of a model in one graph: which is being built, and the gradients that each has collected.

    Attributes:
      number: of towers. reduction: of the losses over towers, one of ``tf.losses.Reduction``.
      optimized: whether a ``TowerOptimizer`` was used.
    """

    def __init__(self) -> None:
        self.number = 1
        self.reduction: str | None = None
        self.optimized = False
        self._index = 0
        self._scopes: tuple[Any, str | None] = (None, None)
        self._collected: list[list[list[tuple[Any, Any]]]] = []

    @staticmethod
    def current() -> Replicas:
        """Those of the default graph."""
        found = get_default_graph().get_collection_ref(_STATES)
        if not found:
            found.append(Replicas())
        return found[-1]

    @staticmethod
    def clear() -> None:
        """Forgets those of the default graph."""
        get_default_graph().get_collection_ref(_STATES).clear()

    def start(self, number: int, reduction: str) -> None:
        self.number, self.reduction = number, reduction
        self._collected = [[] for _ in range(number)]

    @contextmanager
    def tower(self, index: int, var_scope: Any, scope: str | None) -> Iterator[None]:
        """Inside, a tower is built; the scopes are the ones it is in."""
        if index == 0:
            self._scopes = (var_scope, scope)
        self._index = index
        yield

    @contextmanager
    def scopes_of_the_first(self) -> Iterator[None]:
        """The scopes of the first tower, whose names have no prefix."""
        var_scope, scope = self._scopes
        with variable_scope(var_scope), name_scope(scope):
            yield

    def collect(self, grads_and_vars: list[tuple[Any, Any]]) -> bool:
        """Keeps what an optimizer was given; whether every tower has come so far."""
        self._collected[self._index].append(grads_and_vars)
        return self._index == self.number - 1

    def latest(self) -> list[tuple[Any, Any]]:
        """What all towers gave to the optimizer that was called last."""
        call = len(self._collected[self._index]) - 1
        return [pair for tower in self._collected for pair in tower[call]]

    def are_alike(self) -> bool:
        """Whether the towers made as many calls of optimizers each."""
        return sum(map(len, self._collected)) % self.number == 0


def scale_loss(loss: Any, reduction: str | None, towers: int) -> Any:
    """A tower's part of the loss of all towers."""
    if loss is None or towers == 1 or reduction == Reduction.SUM:
        return loss
    return div(loss, 1.0 * towers, name="averaged_loss")


def summed(values: Sequence[Any], where: str, name: str | None = None) -> Any:
    """The sum of towers' values; of rows all of them."""
    with device(where):
        if not isinstance(values[0], IndexedSlices):
            return add_n(list(values), name=name)
        rows = concat([v.values for v in values], axis=0)
        return IndexedSlices(rows, concat([v.indices for v in values], axis=0), values[0].dense_shape)


def _tensors(grads_and_vars: Iterable[tuple[Any, Any]]) -> list[Tensor]:
    return [g.values if isinstance(g, IndexedSlices) else g for g, _ in grads_and_vars if g is not None]


class TowerOptimizer(OptimizerWrapper):
    """An optimizer for the model functions that ``replicate_model_fn`` replicates.

    The gradients of all towers are added up and applied in the last one. Every call of the model function makes the
    same calls of optimizers in the same order. Without ``replicate_model_fn``, or on one device, it does what the
    optimizer inside does.

    Args:
      optimizer_or_optimizer_fn: the optimizer inside, or a function without arguments that makes it, called in the
        graph that it is used in.
    """

    COLLECTION_FOR_GRAPH_STATES = _STATES

    @deprecated("2018-05-31", "Please use `tf.contrib.distribute.MirroredStrategy` instead.")
    def __init__(self, optimizer_or_optimizer_fn: Any):
        # Not the initializers of its bases: everything is the optimizer's inside, which may not be there yet.
        self._optimizer_or_optimizer_fn: Any = optimizer_or_optimizer_fn

    @staticmethod
    def has_been_used() -> bool:
        """Whether one was used in the default graph."""
        return Replicas.current().optimized

    @property
    def _opt(self) -> Any:
        if callable(self._optimizer_or_optimizer_fn):
            make: Callable[[], Any] = self._optimizer_or_optimizer_fn
            self._optimizer_or_optimizer_fn = make()
        Replicas.current().optimized = True
        return self._optimizer_or_optimizer_fn

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def get_name(self, *args: Any, **kwargs: Any) -> str:
        return self._opt.get_name(*args, **kwargs)

    def variables(self, *args: Any, **kwargs: Any) -> list[Any]:
        return self._opt.variables(*args, **kwargs)

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """The gradients of a tower's loss, which is divided by the number of towers unless losses are added up."""
        replicas = Replicas.current()
        return self._opt.compute_gradients(scale_loss(loss, replicas.reduction, replicas.number), *args, **kwargs)

    def apply_gradients(  # type: ignore[override]
        self, grads_and_vars: Iterable[Any], global_step: Any = None, **kwargs: Any
    ) -> Any:
        """Collects a tower's gradients; in the last tower it applies their sums."""
        replicas = Replicas.current()
        if replicas.number == 1:
            return self._opt.apply_gradients(grads_and_vars, global_step, **kwargs)
        pairs = list(grads_and_vars)
        if not replicas.collect(pairs):
            with control_dependencies(_tensors(pairs)):
                return no_op(name="train_op_placeholder")
        with replicas.scopes_of_the_first():
            return self._opt.apply_gradients(_aggregated(replicas), global_step=global_step, **kwargs)


def _aggregated(replicas: Replicas) -> list[tuple[Any, Any]]:
    variables: dict[int, Any] = {}
    gradients: dict[int, list[Any]] = {}
    for gradient, variable in replicas.latest():
        if gradient is not None:
            variables[id(variable)] = variable
            gradients.setdefault(id(variable), []).append(gradient)
    with name_scope("gradient_aggregating"):
        return [(summed(found, variables[key].device), variables[key]) for key, found in gradients.items()]
