"""``tf.estimator.export``: what a model says that it gives when it is served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from towerstrat.compat.estimator import keys
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.types import string

Outputs = Tensor | Mapping[Any, Tensor]
"""One tensor, or several by name; a name is a string or a tuple of strings."""


class ExportOutput:
    """An output of a model that can be served. The classes derived from it say what is in it."""

    _SEPARATOR_CHAR = "/"

    def as_signature_def(self, receiver_tensors: Any) -> NoReturn:
        """Raises UnsupportedError: it describes a saved model, which nothing here writes."""
        raise UnsupportedError(
            "Saved models are not supported: serve from a checkpoint, or save values with numpy.savez."
        )

    def _check_output_key(self, key: Any, label: str) -> str:
        if isinstance(key, tuple):
            key = self._SEPARATOR_CHAR.join(key)
        if not isinstance(key, str):
            raise ValueError(f"{label} output key must be a string; got {key}.")
        return key

    def _wrap_and_check_outputs(self, outputs: Outputs, single: str, label: str | None = None) -> dict[str, Tensor]:
        """The outputs by name; one alone is called ``single``. Raises ValueError for what is no tensor."""
        found = {}
        for key, value in (outputs if isinstance(outputs, dict) else {single: outputs}).items():
            name = self._check_output_key(key, label or single)
            if not isinstance(value, Tensor):
                raise ValueError(f"{label or single} output value must be a Tensor; got {value}.")
            found[name] = value
        return found


class ClassificationOutput(ExportOutput):
    """The output of a classifier.

    Args:
      scores: of each class, floating point [batch, classes]. classes: their names, strings [batch, classes].

    Raises:
      ValueError: both are missing, or one has another element type.
    """

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None):
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype == string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores = scores
        self._classes = classes

    @property
    def scores(self) -> Tensor | None:
        return self._scores

    @property
    def classes(self) -> Tensor | None:
        return self._classes


class RegressionOutput(ExportOutput):
    """The output of a regression.

    Args:
      value: what is predicted, of a floating point type. Raises ValueError for another.
    """

    def __init__(self, value: Tensor):
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Tensor:
        return self._value


class PredictOutput(ExportOutput):
    """Any other output.

    Args:
      outputs: tensors by name; one alone is called ``output``. Raises ValueError for what is no tensor.
    """

    def __init__(self, outputs: Outputs):
        self._outputs = self._wrap_and_check_outputs(outputs, "output", "Prediction")

    @property
    def outputs(self) -> dict[str, Tensor]:
        return self._outputs


class _SupervisedOutput(ExportOutput):
    """What training or evaluating gives.

    Args:
      loss, predictions: tensors. metrics: ``(value, update_op)``, or several such pairs by name.

    Raises:
      ValueError: a name is no string, or what it names is no tensor (or operation, for an update).
    """

    LOSS_NAME = "loss"
    PREDICTIONS_NAME = "predictions"
    METRICS_NAME = "metrics"
    METRIC_VALUE_SUFFIX = "value"
    METRIC_UPDATE_SUFFIX = "update_op"

    def __init__(self, loss: Outputs | None = None, predictions: Outputs | None = None, metrics: Any = None):
        self._loss = self._named(loss, self.LOSS_NAME)
        self._predictions = self._named(predictions, self.PREDICTIONS_NAME)
        self._metrics = None if metrics is None else self._wrap_and_check_metrics(metrics)

    @property
    def loss(self) -> dict[str, Tensor] | None:
        return self._loss

    @property
    def predictions(self) -> dict[str, Tensor] | None:
        return self._predictions

    @property
    def metrics(self) -> dict[str, Tensor] | None:
        return self._metrics

    def _named(self, outputs: Outputs | None, name: str) -> dict[str, Tensor] | None:
        if outputs is None:
            return None
        found = self._wrap_and_check_outputs(outputs, name)
        return {self._prefix_key(key, name): value for key, value in found.items()}

    def _prefix_key(self, key: str, name: str) -> str:
        return key if key.startswith(name) else f"{name}{self._SEPARATOR_CHAR}{key}"

    def _wrap_and_check_metrics(self, metrics: Any) -> dict[str, Tensor]:
        outputs: dict[str, Tensor] = {}
        for key, (value, update) in (metrics if isinstance(metrics, dict) else {self.METRICS_NAME: metrics}).items():
            name = self._prefix_key(self._check_output_key(key, self.METRICS_NAME), self.METRICS_NAME)
            if not isinstance(value, Tensor):
                raise ValueError(f"{name} output value must be a Tensor; got {value}.")
            if not isinstance(update, Tensor | Operation):
                raise ValueError(f"{name} update_op must be a Tensor or Operation; got {update}.")
            if isinstance(update, Operation):
                with control_dependencies([update]):
                    update = constant([], name="metric_op_wrapper")
            outputs[f"{name}{self._SEPARATOR_CHAR}{self.METRIC_VALUE_SUFFIX}"] = value
            outputs[f"{name}{self._SEPARATOR_CHAR}{self.METRIC_UPDATE_SUFFIX}"] = update
        return outputs


class TrainOutput(_SupervisedOutput):
    """What training gives."""


class EvalOutput(_SupervisedOutput):
    """What evaluating gives."""


def get_export_outputs(export_outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """The outputs by name, the default one among them; by default the predictions.

    Args:
      export_outputs: ExportOutput objects by name, or None. One alone becomes the default as well.

    Raises:
      TypeError: not a dictionary of ExportOutput objects.
      ValueError: none of several is called ``serving_default``.
    """
    default = keys.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if export_outputs is None:
        export_outputs = {default: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}")
    if len(export_outputs) == 1:
        export_outputs.setdefault(default, *export_outputs.values())
    if export_outputs and default not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  Do this by naming "
            "one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return export_outputs
