"""``TPUEstimatorSpec``: what the model function of a ``TPUEstimator`` returns."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from towerstrat.compat.estimator.tpu.host_calls import FetchHook, called
from towerstrat.compat.estimator.tpu.package_modules import Base, loaded
from towerstrat.compat.utilities.inspection import fn_args
from towerstrat.training.hooks.session_run_hook import SessionRunHook


class TPUEstimatorSpec(Base):
    """The operations and objects of a model in one mode; see ``EstimatorSpec`` for those that it has as well.

    Args:
      eval_metrics: (function, tensors): the function takes what the towers' tensors are together, concatenated along
        their first dimension, a list of them as positional and a dictionary as keyword arguments. It returns a
        dictionary of metrics, each (value, update).
      host_call: (function, tensors) likewise, whose operations the host runs with the values of every step.
      scaffold_fn: makes the ``Scaffold``, outside of the step.

    Raises:
      ValueError, TypeError: an entry is not of this form. RuntimeError: the numbers of tensors and arguments differ.
    """

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metrics: Any = None,
        export_outputs: Any = None,
        scaffold_fn: Any = None,
        host_call: Any = None,
        training_hooks: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> Any:
        for name, call in (("eval_metrics", eval_metrics), ("host_call", host_call)):
            if call is not None:
                _check_call(name, call)
        hooks = [tuple(h or ()) for h in (training_hooks, evaluation_hooks, prediction_hooks)]
        for hook in (h for given in hooks for h in given):
            if not isinstance(hook, SessionRunHook):
                raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
        return super().__new__(
            cls, mode=mode, predictions=predictions, loss=loss, train_op=train_op, eval_metrics=eval_metrics,
            export_outputs=export_outputs, scaffold_fn=scaffold_fn, host_call=host_call, training_hooks=hooks[0],
            evaluation_hooks=hooks[1], prediction_hooks=hooks[2],
        )  # fmt: skip

    def as_estimator_spec(self) -> Any:
        """The ``EstimatorSpec`` for a run without towers: metrics and host calls on the tensors themselves."""
        metrics = None if self.eval_metrics is None else called("eval_metrics", *self.eval_metrics)
        hooks = () if self.host_call is None else (FetchHook(called("host_call", *self.host_call)),)
        return loaded("model_fn").EstimatorSpec(
            mode=self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op,
            eval_metric_ops=metrics, export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=(*self.training_hooks, *hooks), evaluation_hooks=(*self.evaluation_hooks, *hooks),
            prediction_hooks=(*self.prediction_hooks, *hooks),
        )  # fmt: skip


def _check_call(name: str, call: Any) -> None:
    """Raises ValueError, TypeError or RuntimeError where ``call`` is no (function, tensors)."""
    if not isinstance(call, tuple | list):
        raise ValueError(f"{name} should be tuple or list")
    if len(call) != 2:
        raise ValueError(f"{name} should have two elements.")
    function, tensors = call
    if not callable(function):
        raise TypeError(f"{name}[0] should be callable.")
    if not isinstance(tensors, tuple | list | Mapping):
        raise ValueError(f"{name}[1] should be tuple or list, or dict.")
    if isinstance(tensors, tuple | list):
        takes = fn_args(function)
        if inspect.getfullargspec(function).varargs is None and len(tensors) != len(takes):
            raise RuntimeError(
                f"In TPUEstimatorSpec.{name}, length of tensors {len(tensors)} does not match method args of the "
                f"function, which takes {len(takes)}."
            )
