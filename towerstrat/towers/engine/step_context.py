"""The context of a step function: the outputs of its loop."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph_elements import Operation


class MultiStepContext:
    """The outputs of a step loop; a step function is given it as its first argument.

    Attributes:
      run_op: the operation that runs all iterations; None where they were run eagerly.
      step_outputs: name -> tensor of the step; once the loop is built its values after each step, stacked.
    """

    def __init__(self) -> None:
        self.run_op: Operation | None = None
        self.step_outputs: dict[str, Any] = {}
        self._last_step_outputs: dict[str, Any] = {}
        self._non_tensor_outputs: dict[str, Any] = {}

    @property
    def last_step_outputs(self) -> dict[str, Any]:
        """Name -> tensor after the last step: one value where it was combined, else one with a part on each tower."""
        return self._last_step_outputs

    def _set_last_step_outputs(self, outputs: dict[str, Any]) -> None:
        if not isinstance(outputs, dict):
            raise ValueError("Need a dictionary to set last_step_outputs.")
        self._last_step_outputs = outputs

    @property
    def non_tensor_outputs(self) -> dict[str, Any]:
        """Name -> what ``set_non_tensor_output`` was given; from tower context its parts."""
        return self._non_tensor_outputs
