"""Eager tensors of calls whose checks are pending (``Function.late``).

The call's program is still running, or queued. The tensor has the result's dtype and shape; its ``array`` waits for
the checks first, so that an error is raised at the first look at a value, and not at the call.
"""

from __future__ import annotations

from typing import Any

from towerstrat.graph.eager.context import EagerContext
from towerstrat.graph.eager.tensor import EagerTensor
from towerstrat.graph.ir.types import Array, DType
from towerstrat.graph.runtime.plans.runner import Run


class UncheckedTensor(EagerTensor):
    """A result of a call, which raises the call's error where its value is first asked for.

    Args:
      run: the call's run.
    """

    __slots__ = ("_found", "_run")

    def __init__(self, context: EagerContext, array: Array, dtype: DType, run: Run):
        self._found = array
        self._run: Run | None = run
        self._context = context
        self.dtype = dtype
        self.dims = array.shape
        self.varies = False
        self.value_index = 0
        self._op = None

    @property
    def array(self) -> Any:
        """The value. Raises InvalidArgumentError: a check of the call failed."""
        if self._run is not None:
            self._context.session.raise_late_errors()
            if self._run.error is not None:
                raise self._run.error
            self._run = None
        return self._found
