"""Metrics as objects that hold their state, as ``tf.contrib.eager.metrics`` had them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import float64, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import assertions, branches
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.scopes.initializers import zeros_initializer
from towerstrat.graph.variables.trackable import Trackable
from towerstrat.graph.variables.variables import GraphKeys, create_variable
from towerstrat.training.summaries import contrib_summary


class Metric(Trackable):
    """A value over many batches: called with each batch, and asked for its ``result()``.

    Those that derive from it define ``build`` (makes variables with ``add_variable``; gets what the first call gets),
    ``call`` (updates them) and ``result``. In a graph a call makes an operation's results: run them per batch.

    Args:
      name: default the class' name.
      use_global_variables: in graphs, keep the variables among the global ones instead of the local ones.
    """

    def __init__(self, name: str | None = None, use_global_variables: bool = False):
        self._name = name or type(self).__name__
        self._use_global_variables = use_global_variables
        self._variables: list[Any] = []
        self._initial: list[Tensor] = []
        self._built = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Takes a batch into account; returns what ``call`` returns."""
        if not self._built:
            with name_scope(re.sub("[^A-Za-z0-9.]", "_", self._name)):
                self.build(*args, **kwargs)
            self._built = True
        if get_default_graph().executing_eagerly:
            return self.call(*args, **kwargs)
        return function(self.call, autograph=False)(*args, **kwargs)

    @property
    def name(self) -> str:
        return self._name

    @property
    def variables(self) -> list[Any]:
        return self._variables

    def init_variables(self) -> Operation | None:
        """Sets the variables to their first values: eagerly at once, in a graph by the operation that is returned."""
        if not get_default_graph().executing_eagerly:
            return branches.group(*(v.initializer for v in self._variables))
        for variable, value in zip(self._variables, self._initial, strict=True):
            variable.assign(value)
        return None

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Makes the variables."""
        raise NotImplementedError("Metrics must define a build() member function")

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Updates the variables."""
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self) -> Any:
        """The value over all batches so far."""
        raise NotImplementedError("Metrics must define a result() member function")

    def value(self) -> Any:
        """In a graph the result, eagerly the method that computes it."""
        return self.result if get_default_graph().executing_eagerly else self.result()

    def aggregate(self, metrics: Sequence[Metric]) -> None:
        """Adds the state of other metrics of the same class and name.

        Raises:
          TypeError: one is of another class. ValueError: one has other variables.
        """
        names = [v.name for v in self._variables]
        for metric in metrics:
            if type(metric) is not type(self):
                raise TypeError(f"All metrics must be the same type, {type(self)} != {type(metric)}.")
            if [v.name for v in metric.variables] != names:
                raise ValueError(f"Expected metrics with the variables {names}, got {metric.variables}.")
        for i, variable in enumerate(self._variables):
            variable.assign_add(segments.add_n([m.variables[i] for m in metrics]))

    def add_variable(self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None) -> Any:
        """A variable of the metric, made in ``build``.

        Args:
          initializer: an initializer, or its class.

        Raises:
          RuntimeError: the metric is built already.
        """
        if self._built:
            raise RuntimeError("Can't call add_variable() except in build().")
        made = initializer() if isinstance(initializer, type) else initializer
        kind = GraphKeys.GLOBAL_VARIABLES if self._use_global_variables else GraphKeys.LOCAL_VARIABLES
        variable = create_variable(
            initial_value=lambda: made(shape, dtype),
            trainable=False,
            collections=[kind, GraphKeys.METRIC_VARIABLES],
            name=name,
        )
        self._track_trackable(variable, name, overwrite=True)
        self._variables.append(variable)
        if get_default_graph().executing_eagerly:
            self._initial.append(variable.read_value())
        return variable


class Mean(Metric):
    """The mean of all values.

    Args:
      dtype: of its variables and its result.
    """

    def __init__(self, name: str | None = None, dtype: Any = float64, use_global_variables: bool = False):
        super().__init__(name, use_global_variables)
        self.dtype = dtype

    def build(self, *args: Any, **kwargs: Any) -> None:
        self.numer = self.add_variable("numer", (), self.dtype, zeros_initializer)
        self.denom = self.add_variable("denom", (), self.dtype, zeros_initializer)

    def call(self, values: Any, weights: Any = None) -> Any:
        """Adds values, weighted by ``weights`` (default 1). Returns its arguments."""
        if weights is None:
            self.denom.assign_add(arithmetic.cast(arrays.size(values), self.dtype))
            values = reductions.reduce_sum(values)
            self.numer.assign_add(arithmetic.cast(values, self.dtype))
            return values
        weights = arithmetic.cast(weights, self.dtype)
        self.denom.assign_add(reductions.reduce_sum(weights))
        values = arithmetic.cast(values, self.dtype) * weights
        self.numer.assign_add(reductions.reduce_sum(values))
        return values, weights

    def result(self, write_summary: Any = True) -> Tensor:
        """The mean.

        Args:
          write_summary: whether it is recorded as ``tf.contrib.summary.scalar`` does it; a truth or a scalar bool.
        """
        result: Tensor = self.numer / self.denom
        known = constant_value(write_summary) if isinstance(write_summary, Tensor) else write_summary
        if known is None:
            branches.cond(write_summary, lambda: self._recorded(result), lambda: result)
        elif known:
            self._recorded(result)
        return result

    def _recorded(self, result: Tensor) -> Tensor:
        contrib_summary.scalar(self.name, result)
        return result


class Accuracy(Mean):
    """How often ``predictions`` equal ``labels``."""

    _message = "Shapes of labels and predictions are unequal"

    def __init__(self, name: str | None = None, dtype: Any = float64):
        super().__init__(name, dtype)

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> Any:  # type: ignore[override]
        """Adds a batch. Returns its arguments, as what was compared.

        Raises:
          InvalidArgumentError: labels and predictions have shapes that do not go together.
        """
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        check = assertions.assert_equal(
            arrays.shape(labels), self._wanted(arrays.shape(predictions)), message=self._message
        )
        with get_default_graph().control_dependencies([] if check is None else [check]):
            labels, predictions = self._comparable(labels, predictions)
            matches = arithmetic.cast(arithmetic.equal(labels, predictions), self.dtype)
        super().call(matches, weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)

    def _wanted(self, shape: Tensor) -> Tensor:
        """The labels' shape, by that of the predictions."""
        return shape

    def _comparable(self, labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
        return labels, predictions


class CategoricalAccuracy(Accuracy):
    """How often the largest of ``predictions`` is where that of one-hot ``labels`` is."""

    def _comparable(self, labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
        return reductions.argmax(labels, axis=-1), reductions.argmax(predictions, axis=-1)


class BinaryAccuracy(Accuracy):
    """How often ``predictions > threshold`` equals labels, which are booleans.

    Args:
      threshold: 0.5 for probabilities, 0 for logits.
    """

    def __init__(self, threshold: float, name: str | None = None, dtype: Any = float64):
        super().__init__(name, dtype)
        self.threshold = threshold

    def _comparable(self, labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
        return labels, predictions > self.threshold


class SparseAccuracy(Accuracy):
    """How often the largest of ``predictions`` (``[batch, classes]``) is at ``labels`` (``[batch]``)."""

    _message = "First axis of labels and predictions is unequal"

    def _wanted(self, shape: Tensor) -> Tensor:
        return shape[0]

    def _comparable(self, labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
        return arithmetic.cast(labels, int64), reductions.argmax(predictions, axis=-1)
