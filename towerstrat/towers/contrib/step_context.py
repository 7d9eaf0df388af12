"""``MultiStepContext`` of ``run_steps_on_dataset``."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.variables.variables import VariableAggregation
from towerstrat.towers.engine import step_context, tower_contexts
from towerstrat.towers.engine.engine import CrossTower


class MultiStepContext(step_context.MultiStepContext):
    """The outputs of ``run_steps_on_dataset``; a step function is given it as its first argument.

    Attributes:
      run_op: the operation that runs all iterations.
    """

    def set_last_step_output(
        self, name: str, output: Any, aggregation: VariableAggregation = VariableAggregation.NONE
    ) -> None:
        """Makes ``output`` available after the last step.

        Args:
          name: its key in ``last_step_outputs``.
          output: a tensor or per-device value.
          aggregation: how the towers' values become one. Required in tower context; NONE in cross-tower context keeps
            the value as it is.

        Raises:
          ValueError: no aggregation in tower context.
        """

        def reduced(distribution: CrossTower, value: Any) -> None:
            self._last_step_outputs[name] = distribution.reduce(aggregation, value, destinations="/device:CPU:0")

        across = tower_contexts.in_cross_tower_context()
        if aggregation is not VariableAggregation.NONE:
            if across:
                reduced(tower_contexts.current_distribution(), output)
            else:
                tower_contexts.merge_call(reduced, output)
        elif across:
            self._last_step_outputs[name] = output
        else:
            raise ValueError(
                f"set_last_step_output({name!r}) in tower context needs an aggregation: pass aggregation="
                "tf.VariableAggregation.MEAN (or SUM, ONLY_FIRST_TOWER), or call it in cross-tower context."
            )

    def set_non_tensor_output(self, name: str, output: Any) -> None:
        """Keeps any Python value; from tower context a list of its parts."""
        if tower_contexts.in_cross_tower_context():
            self._non_tensor_outputs[name] = output
            return

        def merge_fn(distribution: CrossTower, value: Any) -> None:
            self._non_tensor_outputs[name] = distribution.unwrap(value)

        tower_contexts.merge_call(merge_fn, output)
