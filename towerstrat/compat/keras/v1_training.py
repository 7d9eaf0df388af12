"""Models as 1.x had them, where 2.15 has them otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from towerstrat.data.iterators.session_iterators import Iterator
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.towers.contrib_late.strategies import Extended


def complete_models(module: ModuleType) -> None:
    """Gives models of graphs what those of 1.x took.

    ``compile(distribute=...)``: batches of datasets are those of one tower, as they were in 1.11 and 1.12; callbacks
    see the model of the first tower. Methods that train, evaluate and predict take iterators. On towers, what is
    neither arrays nor a dataset is refused.
    """
    kind = vars(module)["Model"]
    compile_model = kind.compile

    @wraps(compile_model)
    def compile_as_then(self: Any, *args: Any, **kwargs: Any) -> Any:
        extended = getattr(kwargs.get("distribute"), "extended", None)
        if isinstance(extended, Extended):
            extended.batches_of_towers = True
        return compile_model(self, *args, **kwargs)

    kind.compile = compile_as_then
    kind._make_callback_model = _show_first_tower
    standardize = kind._distribution_standardize_user_data
    kind._distribution_standardize_user_data = _require_arrays_or_dataset(standardize, module.tf)
    for name in ("train_on_batch", "test_on_batch", "predict_on_batch"):
        setattr(kind, name, _refuse_on_towers(getattr(kind, name), module.tf))
    for name in ("fit", "evaluate", "train_on_batch", "test_on_batch"):
        setattr(kind, name, _taking_iterators(getattr(kind, name), targets=True))
    for name in ("predict", "predict_on_batch"):
        setattr(kind, name, _taking_iterators(getattr(kind, name), targets=False))


def _show_first_tower(self: Any, grouped_model: Any) -> None:
    # The package's model for callbacks has no weights, and what it saves it asks of an attribute that nothing sets.
    vars(self)["_replicated_model"] = self._distribution_strategy.unwrap(grouped_model)[0]


def _require_arrays_or_dataset(standardize: Callable[..., Any], tf: Any) -> Callable[..., Any]:
    """The method that makes a dataset of what a model on towers is given, with an error for generators and the like."""

    @wraps(standardize)
    def standardize_data(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, tf.data.Dataset) and not isinstance(tf.nest.flatten(x)[0], np.ndarray):
            raise NotImplementedError(
                f"A model that is compiled with tf.distribute.Strategy takes numpy arrays and datasets, got {x!r}. "
                "tf.data.Dataset.from_generator makes a dataset of a generator."
            )
        return standardize(self, x, *args, **kwargs)

    return standardize_data


def _refuse_on_towers(method: Callable[..., Any], tf: Any) -> Callable[..., Any]:
    """A method for single batches, which in graphs models on towers do not have."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._distribution_strategy and not tf.compat.v1.executing_eagerly_outside_functions():
            raise NotImplementedError(
                f"{method.__name__} is not supported for models compiled with tf.distribute.Strategy: call fit, "
                "evaluate or predict with the batch, and steps_per_epoch=1 or steps=1."
            )
        return method(self, *args, **kwargs)

    return call


def _taking_iterators(method: Callable[..., Any], targets: bool) -> Callable[..., Any]:
    """A method of models that takes the tensors of an iterator where it is given one.

    Args:
      targets: whether the method takes targets and weights too.
    """

    @wraps(method)
    def take(self: Any, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("validation_data"), Iterator):
            kwargs["validation_data"] = _element(self, kwargs["validation_data"])
        if not isinstance(x, Iterator):
            return method(self, x, *args, **kwargs)
        if self._distribution_strategy:
            raise ValueError(
                f"{method.__name__} of a model that is compiled with distribute= does not take an iterator: pass the "
                "dataset that it is of."
            )
        given = [each for each in (*args[:1], kwargs.get("y"), kwargs.get("sample_weight")) if each is not None]
        if given:
            raise ValueError(
                f"{method.__name__} takes targets and weights from the iterator, but got {given[0]!r} too."
            )
        inputs, *rest = _element(self, x)
        if not targets:
            return method(self, inputs, *args, **kwargs)
        named = dict(zip(("y", "sample_weight"), rest, strict=False))
        return method(self, inputs, *args[2:], **{**kwargs, **named})

    return take


def _element(model: Any, iterator: Iterator) -> tuple[Any, ...]:
    """The tensors of an iterator's next element, the same each time: inputs, and targets and weights where it has them.

    Raises:
      ValueError: an element of more parts.
    """
    taken = vars(model).setdefault("_taken", WeakKeyDictionary())
    if iterator not in taken:
        taken[iterator] = iterator.get_next()
    element = taken[iterator]
    if not isinstance(element, tuple):
        return (element,)
    if len(element) > 3:
        raise ValueError(
            f"Expected an iterator whose elements are (inputs, targets) or (inputs, targets, weights), got {element!r}."
        )
    return element


def keep_values(module: ModuleType) -> None:
    """The session that a strategy's model trains in begins with the values of the one before, as on a TPU's host."""
    create = vars(module)["configure_and_create_distributed_session"]

    @wraps(create)
    def create_with_values(distribution_strategy: Any) -> None:
        graph = get_default_graph()
        before = getattr(module._SESSION, "session", None)
        values: dict[Any, Any] = {}
        if before is not None and before.graph is graph:
            made = [v for v in module._GRAPH_VARIABLES.get(graph, ()) if getattr(v, "_keras_initialized", False)]
            values = dict(zip(made, before.run(made), strict=True)) if made else {}
        create(distribution_strategy)
        for variable, value in values.items():
            variable.load(value, module._SESSION.session)

    vars(module)["configure_and_create_distributed_session"] = create_with_values


def complete_loops(module: ModuleType) -> None:
    """Evaluation and prediction on towers as on one device.

    Predictions are those of all batches, also of those at the end that do not suffice for all towers. The loss of
    ``evaluate`` is that of all rows of a step, however many of them each tower has.
    """
    predict = vars(module)["experimental_tpu_predict_loop"]
    execution = vars(module)["_per_replica_execution_function"]

    @wraps(predict)
    def predict_all(model: Any, *args: Any, **kwargs: Any) -> Any:
        extended = model._distribution_strategy.extended
        if not isinstance(extended, Extended):
            return predict(model, *args, **kwargs)
        extended.keeps_batches = True
        try:
            return predict(model, *args, **kwargs)
        finally:
            extended.keeps_batches = False

    @wraps(execution)
    def weigh(model: Any, mode: Any) -> Any:
        inputs, outputs, updates, kwargs = execution(model, mode)
        if mode == module.ModeKeys.TEST and model.inputs:
            outputs = [outputs[0] * _share(module.tf, model.inputs[0]), *outputs[1:]]
        return inputs, outputs, updates, kwargs

    vars(module)["experimental_tpu_predict_loop"] = predict_all
    vars(module)["_per_replica_execution_function"] = weigh


def _share(tf: Any, inputs: Any) -> Any:
    """How many rows a tower has, divided by how many the towers have on average."""
    context = tf.distribute.get_replica_context()
    rows = tf.cast(tf.shape(inputs)[0], "float32")
    everywhere = context.all_reduce(tf.distribute.ReduceOp.SUM, rows)
    return tf.math.divide_no_nan(rows * context.num_replicas_in_sync, everywhere)
