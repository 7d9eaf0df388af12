"""``MultiStepContext`` of ``experimental_run_steps_on_iterator``."""

from __future__ import annotations

from typing import Any

from towerstrat.towers.distribute.replica_context import strategy_of
from towerstrat.towers.engine import step_context, tower_contexts
from towerstrat.towers.engine.engine import CrossTower


class MultiStepContext(step_context.MultiStepContext):
    """The outputs of a step loop; a step function is given it as its first argument.

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
        if tower_contexts.in_cross_tower_context():
            given = reduce_op is not None
            strategy = strategy_of(tower_contexts.current_engine())
            self._last_step_outputs[name] = strategy.reduce(reduce_op, output, axis=None) if given else output
            return
        if reduce_op is None:
            raise ValueError(
                f"set_last_step_output({name!r}) in a replica's context needs a reduce_op, tf.distribute.ReduceOp.MEAN "
                "or SUM. Or call it in cross-replica context, for the values of all replicas."
            )
        tower_contexts.merge_call(lambda _, value: self.set_last_step_output(name, value, reduce_op), output)

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Keeps any Python value; from a replica's context its parts."""
        if tower_contexts.in_cross_tower_context():
            self._non_tensor_outputs[name] = output
            return

        def merge_fn(distribution: CrossTower, value: Any) -> None:
            strategy = strategy_of(distribution.engine)
            self._non_tensor_outputs[name] = strategy.experimental_local_results(value)

        tower_contexts.merge_call(merge_fn, output)
