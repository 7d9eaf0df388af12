"""Eager tensors of calls whose checks are pending (``Function.late``).

The call's program is still running, or queued. The tensor has the result's dtype and shape; its ``array`` settles the
checks first, so that an error is raised at the first look at a value, and not at the call. Each look raises
it. Without this a loop of calls would wait for the device after each; Keras' training loops use it.

>>> import numpy as np
>>> from towerstrat.errors import InvalidArgumentError
>>> from towerstrat.graph.eager.context import context
>>> from towerstrat.graph.ir.types import float32
>>> run = Run(None, None, {}, {})
>>> loss = UncheckedTensor(context(), np.float32(0.5), float32, run)
>>> run.error = InvalidArgumentError(None, None, "x is not positive")
>>> loss.numpy()
Traceback (most recent call last):
    ...
towerstrat.errors.InvalidArgumentError: x is not positive
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
        # Not by ``EagerTensor.__init__``, which sets ``array``: it is a property here.
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
