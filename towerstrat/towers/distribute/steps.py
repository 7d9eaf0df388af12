"""Step loops and iterators of the later surface, as 1.14 and 1.15 had them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.towers.distribute.contexts import get_replica_context, get_strategy
from towerstrat.towers.distribute.dataset import DistributedDataset, InputIterator
from towerstrat.towers.distribute.values import per_replica
from towerstrat.towers.engine import contexts, step_loop


class MultiStepContext(step_loop.MultiStepContext):
    """What a step function uses to give outputs out of the loop.

    Attributes:
      run_op: the operation that runs all iterations; None where they were run at once.
    """

    def set_last_step_output(self, name: str, output: Any, reduce_op: Any = None) -> None:
        """Makes ``output`` available after the last step.

        Args:
          name: its key in ``last_step_outputs``.
          output: a tensor or per-replica value.
          reduce_op: how the replicas' values become one. Required in a replica's context; None in cross-replica context
            keeps the value as it is.

        Raises:
          ValueError: no ``reduce_op`` in a replica's context.
        """
        context = get_replica_context()
        if context is None:
            given = reduce_op is not None
            self._last_step_outputs[name] = get_strategy().reduce(reduce_op, output, axis=None) if given else output
            return
        if reduce_op is None:
            raise ValueError(
                f"set_last_step_output({name!r}) in a replica's context needs a reduce_op, tf.distribute.ReduceOp.MEAN "
                "or SUM. Or call it in cross-replica context, for the values of all replicas."
            )
        context.merge_call(lambda strategy, value: self.set_last_step_output(name, value, reduce_op), args=(output,))

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Keeps any Python value; from a replica's context its parts."""
        context = get_replica_context()
        if context is None:
            self._non_tensor_outputs[name] = output
            return

        def merge_fn(strategy: Any, value: Any) -> None:
            self._non_tensor_outputs[name] = strategy.experimental_local_results(value)

        context.merge_call(merge_fn, args=(output,))


class _Surface(step_loop.Surface):
    method = "experimental_run_steps_on_iterator"
    context = MultiStepContext
    whole = True

    def per_position(self, tensor: Tensor, devices: Sequence[str], axis: Axis) -> Any:
        return per_replica(tensor, devices, axis)

    def arguments(self, element: Any) -> tuple[Any, ...]:
        return (element,)


def run_steps(strategy: Any, fn: Callable[..., Any], iterator: Any, iterations: Any, initial_values: Any) -> Any:
    """``fn(context, element)`` run ``iterations`` times. In a graph it is a loop, otherwise it is run at once.

    Raises:
      TypeError: in a graph, not an iterator of the strategy. ValueError: shapes of elements that are not known.
    """
    with strategy.scope():
        if get_default_graph().executing_eagerly:
            context = MultiStepContext()
            for _ in range(int(iterations)):
                fn(context, iterator.get_next())
            return context
        if not isinstance(iterator, InputIterator):
            raise TypeError(
                f"Expected an iterator of strategy.make_dataset_iterator(dataset), or of a distributed dataset, got "
                f"{iterator!r}."
            )
        towers = contexts.get_distribution_strategy()
        axis = None if iterator.layout is None else iterator.layout.axis
        devices = towers.worker_devices
        return step_loop.run_steps(
            axis, devices, fn, iterator.iterator, iterations, initial_values, fixed_shapes=True, surface=_Surface()
        )


class DatasetIterator:
    """What ``make_dataset_iterator`` gives where operations are executed eagerly: it is ready from the start.

    Args:
      dataset: a distributed one, or one of a single replica.
    """

    def __init__(self, dataset: DistributedDataset):
        self._dataset = dataset
        self._iterator = iter(dataset)

    def initialize(self) -> None:
        """Goes back to the first element."""
        self._iterator = iter(self._dataset)

    def get_next(self, name: str | None = None) -> Any:
        """The next element. Raises OutOfRangeError at the end."""
        return self._iterator.get_next()

    next = get_next

    def get_next_as_optional(self) -> Any:
        """The next element, which may not be there."""
        return self._iterator.get_next_as_optional()

    @property
    def element_spec(self) -> Any:
        return self._dataset.element_spec
