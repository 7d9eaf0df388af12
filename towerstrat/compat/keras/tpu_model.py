"""``tf.contrib.tpu.keras_to_tpu_model``: a copy of a model that trains on the towers."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from towerstrat.towers.cluster.tpu_system import TPUClusterResolver
from towerstrat.towers.contrib_late.strategies import TPUStrategy


class TPUDistributionStrategy:
    """Where ``keras_to_tpu_model`` trains.

    Args:
      tpu_cluster_resolver: which machine; None is the local one.
      using_single_core: whether one tower is used, of however many there are.
    """

    def __init__(self, tpu_cluster_resolver: Any = None, using_single_core: bool = False):
        resolver = TPUClusterResolver("") if tpu_cluster_resolver is None else tpu_cluster_resolver
        self.strategy = TPUStrategy(resolver, steps_per_run=1, num_cores=1 if using_single_core else None)


def keras_to_tpu_model(model: Any, strategy: TPUDistributionStrategy | None = None) -> Any:
    """A copy of a model, with its weights, that trains, evaluates and predicts on the towers.

    Batches are divided among the towers. The copy has ``sync_to_cpu()``, which gives a model without towers that has
    its weights; functions that return datasets are taken for ``x`` and ``validation_data``.

    Raises:
      TypeError: another kind of strategy. ValueError: a layer with a dimension besides the batch that is not known.
    """
    if strategy is not None and not isinstance(strategy, TPUDistributionStrategy):
        raise TypeError(
            f"`strategy` must have type `tf.contrib.tpu.TPUDistributionStrategy`. Got: {type(strategy)}. "
            "compile(distribute=...) takes a tf.contrib.distribute.TPUStrategy."
        )
    _check_shapes(model)
    towers = (strategy or TPUDistributionStrategy()).strategy
    models = sys.modules["keras.src.models.cloning"]
    weights = model.get_weights()
    alone = models.clone_model(model)
    alone.set_weights(weights)
    with towers.scope():
        copy = models.clone_model(model)
        copy.set_weights(weights)
    kind: Any = type(copy)
    object.__setattr__(copy, "__class__", _on_towers(kind))
    vars(copy).update(_towers=towers, _alone=alone)
    if model.optimizer:
        copy.compile(
            model.optimizer, model.loss, model._compile_metrics, model.loss_weights, model.sample_weight_mode,
            model._compile_weighted_metrics,
        )  # fmt: skip
    return copy


@cache
def _on_towers(kind: Any) -> type:
    """The class of models that train on towers and know one that does not."""

    class KerasTPUModel(kind):
        def compile(
            self, optimizer: Any, loss: Any = None, metrics: Any = None, loss_weights: Any = None,
            sample_weight_mode: Any = None, weighted_metrics: Any = None, target_tensors: Any = None, **kwargs: Any,
        ) -> None:  # fmt: skip
            given = {
                "sample_weight_mode": sample_weight_mode, "weighted_metrics": weighted_metrics,
                "target_tensors": target_tensors,
            }  # fmt: skip
            if "_alone" not in vars(self):  # keras' copy of it for a tower, which it gives what it trains on
                super().compile(optimizer, loss, metrics, loss_weights, **given, **kwargs)
                return
            for name, value in given.items():
                if value:
                    raise ValueError(f"{name} not supported for TPU execution, got {value!r}.")
            self._alone.compile(optimizer, loss, metrics, loss_weights, **kwargs)
            with self._towers.scope():
                super().compile(optimizer, loss, metrics, loss_weights, **kwargs)

        def fit(self, x: Any = None, *args: Any, validation_data: Any = None, **kwargs: Any) -> Any:
            if callable(validation_data):
                validation_data = validation_data()
            return super().fit(_data(x), *args, validation_data=validation_data, **kwargs)

        def evaluate(self, x: Any = None, *args: Any, **kwargs: Any) -> Any:
            return super().evaluate(_data(x), *args, **kwargs)

        def sync_to_cpu(self) -> Any:
            """A model without towers that has the weights of now."""
            self._alone.set_weights(self.get_weights())
            return self._alone

        def save(self, *args: Any, **kwargs: Any) -> None:
            """Saves the model without towers, which any program loads."""
            self.sync_to_cpu().save(*args, **kwargs)

    return KerasTPUModel


def _data(x: Any) -> Any:
    return x() if callable(x) else x


def _check_shapes(model: Any) -> None:
    for layer in model.layers:
        for shape in (layer.input_shape, layer.output_shape):
            for each in [shape] if isinstance(shape, tuple) else shape:
                if None in each[1:]:
                    raise ValueError(
                        f"Layer {layer.name} has a variable shape in a non-batch dimension: input {layer.input_shape}, "
                        f"output {layer.output_shape}. TPU models must have constant shapes for all operations; you "
                        "may have to give input_length to layers over sequences."
                    )
