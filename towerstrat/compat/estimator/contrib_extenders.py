"""Functions of ``tf.contrib.estimator`` that the package does not have: they end with contrib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from towerstrat.compat.estimator.export_outputs import PredictOutput
from towerstrat.compat.estimator.package_loader import ESTIMATOR, INSIDE
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from towerstrat.graph.ops.nn.clipping import clip_by_global_norm
from towerstrat.graph.ops.sparse.dense_conversion import sparse_tensor_to_dense
from towerstrat.training.optimizers.optimizer_wrapper import OptimizerWrapper


class _ClippedByNorm(OptimizerWrapper):
    """An optimizer whose gradients are clipped by their global norm before it applies them."""

    def __init__(self, opt: Any, clip_norm: Any):
        super().__init__(opt, f"ClipByNorm{opt.get_name()}")
        self._clip_norm = clip_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None) -> Any:
        gradients, variables = zip(*grads_and_vars, strict=True)
        clipped = clip_by_global_norm(gradients, self._clip_norm)[0]
        return self._opt.apply_gradients(list(zip(clipped, variables, strict=True)), global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self) -> list[str]:
        return self._opt.get_slot_names()


def clip_gradients_by_norm(optimizer: Any, clip_norm: Any) -> Any:
    """An optimizer that clips gradients by their global norm, and applies them by ``optimizer``.

    Args:
      clip_norm: a scalar above 0.
    """
    return _ClippedByNorm(optimizer, clip_norm)


def _keys(keys: Any) -> list[str] | None:
    if keys is None:
        return None
    if isinstance(keys, str):
        return [keys]
    if not isinstance(keys, list | tuple):
        raise TypeError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(
                "All items in the given keys list should be a string. There exist an item with type: " + str(type(key))
            )
    return list(keys)


def _check(keys: list[str], features: Mapping[str, Any], predictions: Any) -> None:
    if not isinstance(predictions, dict):
        raise ValueError(f"Predictions should be a dict to be able to forward features. Given: {type(predictions)}")
    for key in keys:
        if key not in features:
            raise ValueError(
                f'keys should be exist in features. Key "{key}" is not in features dict. features dict has following '
                f"keys: {features.keys()}. Please check arguments of forward_features."
            )
        if key in predictions:
            raise ValueError(
                f"Cannot forward feature key ({key}). Since it does exist in predictions. Existing prediction keys: "
                f"{predictions.keys()}. Please check arguments of forward_features."
            )


def _dense(key: str, value: Any, defaults: Mapping[str, Any]) -> Tensor:
    feature = convert_to_tensor_or_sparse_tensor(value)
    if key in defaults:
        if not isinstance(feature, SparseTensor):
            raise ValueError(f"Feature ({key}) is expected to be a `SparseTensor`.")
        feature = sparse_tensor_to_dense(feature, default_value=defaults[key])
    if not isinstance(feature, Tensor):
        raise ValueError(
            f"Feature ({key}) should be a Tensor. Please use `keys` argument of forward_features to filter unwanted "
            f"features, oradd key to argument `sparse_default_values`.Type of features[{key}] is {type(feature)}."
        )
    return feature


def forward_features(estimator: Any, keys: Any = None, sparse_default_values: Any = None) -> Any:
    """An estimator whose predictions have features beside them.

    Args:
      estimator: its predictions are a dictionary.
      keys: the name of a feature, or names of features; None: all.
      sparse_default_values: by the name of a sparse feature, what fills it up to a dense one.

    Raises:
      TypeError: ``keys`` are no strings. While the model is built, ValueError for a feature that is missing or sparse,
        and for a name that the predictions have.
    """
    wanted = _keys(keys)

    def new_model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        predictions = spec.predictions
        if predictions is None:
            return spec
        chosen = list(features) if wanted is None else wanted
        _check(chosen, features, predictions)
        for key in chosen:
            predictions[key] = _dense(key, features[key], sparse_default_values or {})
        for name in ("predict", "serving_default"):
            output = (spec.export_outputs or {}).get(name)
            if isinstance(output, PredictOutput):
                output.outputs.update({key: predictions[key] for key in chosen})
        return spec._replace(predictions=predictions)

    made = ESTIMATOR.loaded(f"{INSIDE}.estimator").Estimator
    return made(model_fn=new_model_fn, model_dir=estimator.model_dir, config=estimator.config)
