"""``tf.train.NanTensorHook``: stops training where the loss is not a number."""

from __future__ import annotations

import numpy as np

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.platform import logs
from towerstrat.training.hooks.nan_origin import describe_origin
from towerstrat.training.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


class NanLossDuringTrainingError(RuntimeError):
    """The loss was not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Looks at the loss of each run, and ends training where it is not a number.

    The first tensor on the way to the loss that is not finite is named where the run can be made again: in a note of
    the error, or a line of the log.

    Args:
      loss_tensor: a scalar.
      fail_on_nan_loss: raises ``NanLossDuringTrainingError``; False: requests to stop.
    """

    def __init__(self, loss_tensor: Tensor, fail_on_nan_loss: bool = True):
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        origin = describe_origin(self._loss_tensor, run_context)
        if self._fail_on_nan_loss:
            logs.error(message)
            error = NanLossDuringTrainingError()
            error.add_note(origin)
            raise error
        logs.warning(message)
        logs.warning(origin)
        run_context.request_stop()

    def steps_until_session_use(self, step: int) -> int | None:
        return None
