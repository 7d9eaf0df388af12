"""Steps and the monitor that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.errors import OutOfRangeError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.tapes.gradient_functions import implicit_gradients
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.towers.contrib.distribution_strategy import DistributionStrategy


class Step:
    """One step of a training algorithm; subclasses define ``__call__``."""

    def __init__(self, distribution: DistributionStrategy):
        self._distribution = distribution

    @property
    def distribution(self) -> DistributionStrategy:
        return self._distribution

    def __call__(self) -> Any:
        raise NotImplementedError("must be implemented in descendants")


class StandardInputStep(Step):
    """A step that draws its input from a dataset.

    Args:
      dataset_fn: makes the dataset.
      distribution: the strategy.

    Attributes:
      initialize_iterator: None; the iterator is ready at once.
    """

    def __init__(self, dataset_fn: Callable[[], Any], distribution: DistributionStrategy):
        super().__init__(distribution)
        self._distributed_input = distribution.distribute_dataset(dataset_fn)
        self._iterator = self._distributed_input.make_one_shot_iterator()


class StandardSingleLossStep(StandardInputStep):
    """A training step of a network with one loss.

    Args:
      dataset_fn: makes the dataset.
      loss_fn: ``loss_fn(context, *inputs)`` gives the loss of one tower's inputs; ``context`` is a
        ``MultiStepContext``.
      optimizer: updates the variables that the loss depends on.
      distribution: the strategy.
      iterations_per_step: training steps per call.
    """

    def __init__(
        self,
        dataset_fn: Callable[[], Any],
        loss_fn: Callable[..., Any],
        optimizer: Any,
        distribution: DistributionStrategy,
        iterations_per_step: int = 1,
    ):
        super().__init__(dataset_fn, distribution)
        if not hasattr(optimizer, "_distributed_apply"):
            raise TypeError(f"optimizer must be a tf.train.Optimizer, got {optimizer!r}. Call it if it makes one.")
        self._loss_fn = loss_fn
        self._optimizer = optimizer
        self._iterations_per_step = iterations_per_step

    def __call__(self) -> Any:
        """The operation that runs ``iterations_per_step`` training steps; eagerly runs them and returns None."""
        distribution = self._distribution

        def tower_gradients(context: Any, *inputs: Any) -> list[Any]:
            found = [(g, v) for g, v in implicit_gradients(self._loss_fn)(context, *inputs) if g is not None]
            if not found:
                raise ValueError("No gradients provided for any variable: the loss depends on none of them.")
            return found

        def step_fn(context: Any, *inputs: Any) -> Any:
            grads_and_vars = distribution.call_for_each_tower(tower_gradients, context, *inputs)
            return self._optimizer._distributed_apply(distribution, grads_and_vars)

        with distribution.scope():
            return distribution.run_steps_on_dataset(step_fn, self._iterator, self._iterations_per_step).run_op


class Monitor:
    """Runs a step until its data ends.

    Args:
      step_callable: a ``Step``.
      session: runs it, in a graph; its variables are initialized here.

    Raises:
      ValueError: no session in a graph, or one where operations are executed eagerly.
    """

    def __init__(self, step_callable: Callable[[], Any], session: Any = None):
        if get_default_graph().executing_eagerly:
            if session is not None:
                raise ValueError("Should not provide a `session` in Eager mode.")
            self._run_step = step_callable
            return
        if session is None:
            raise ValueError("Should provide a `session` in Graph mode.")
        self._run_step = session.make_callable(step_callable())
        session.run(global_variables_initializer())

    def run_steps(self, num_steps: int | None = None) -> None:
        """Runs the step ``num_steps`` times, or until the end of the data."""
        step = 0
        while num_steps is None or step < num_steps:
            try:
                self._run_step()
            except OutOfRangeError:
                break
            step += 1
