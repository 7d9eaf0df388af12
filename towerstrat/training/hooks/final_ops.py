"""``tf.train.FinalOpsHook``: a last run before the session is closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towerstrat.errors import OutOfRangeError
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.platform import logs
from towerstrat.training.hooks.session_run_hook import SessionRunHook

_READS_INPUT = (
    "An OutOfRangeError or StopIteration exception is raised by the code in FinalOpsHook. This typically means the Ops "
    "running by the FinalOpsHook have a dependency back to some input source, which should not happen. For example, "
    "for metrics in tf.estimator.Estimator, all metrics functions return two Ops: `value_op` and  `update_op`. "
    "Estimator.evaluate calls the `update_op` for each batch of the data in input source and, once it is exhausted, it "
    "call the `value_op` to get the metric values. The `value_op` here should have dependency back to variables "
    "reading only, rather than reading another batch from input. Otherwise, the `value_op`, executed by `FinalOpsHook`,"
    " triggers another data reading, which ends OutOfRangeError/StopIteration. Please fix that."
)


class FinalOpsHook(SessionRunHook):
    """Computes tensors when the session ends; ``final_ops_values`` has their values then.

    Args:
      final_ops: as the first argument of ``Session.run``; None for nothing.
      final_ops_feed_dict: what is fed to that run.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Mapping[Any, Any] | None = None):
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, in the structure of ``final_ops``; None before the end."""
        return self._final_ops_values

    def end(self, session: SessionLike) -> None:
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(self._final_ops, feed_dict=self._final_ops_feed_dict)
        except (OutOfRangeError, StopIteration):
            logs.warning(_READS_INPUT)
            raise

    def steps_until_session_use(self, step: int) -> int | None:
        return None
