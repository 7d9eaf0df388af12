"""Names of ``tf.contrib`` that the package tf-slim serves, unedited: it is what contrib's slim and layers became.

The package is loaded when one of these names is first used. It is no dependency: ``pip install 'towerstrat[contrib]'``.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from types import ModuleType
from typing import Any

from towerstrat.compat.utilities import arg_scope

PACKAGE = "tf_slim"
OURS = {"tf_slim.ops.arg_scope": arg_scope}
"""Modules of the package that ours stand for: scopes of ``tf.contrib.framework`` and of slim are the same ones."""
HINT = "The package tf-slim has it: pip install 'towerstrat[contrib]'."

_LAYERS = """
    GDN OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES RevBlock adaptive_clipping_fn avg_pool2d avg_pool3d batch_norm
    bias_add bucketize conv1d conv2d conv2d_in_plane conv2d_transpose conv3d conv3d_transpose convolution
    convolution1d convolution2d convolution2d_in_plane convolution2d_transpose convolution3d
    convolution3d_transpose dense_to_sparse dropout elu flatten fully_connected gdn group_norm images_to_sequence
    instance_norm layer_norm legacy_fully_connected legacy_linear legacy_relu linear max_pool2d max_pool3d maxout
    one_hot_encoding optimize_loss pool recompute_grad relu relu6 repeat rev_block scale_gradient separable_conv2d
    separable_convolution2d sequence_to_images softmax spatial_softmax stack summarize_activation
    summarize_activations summarize_biases summarize_collection summarize_tensor summarize_tensors
    summarize_variables summarize_weights unit_norm"""
_LOSSES = """
    absolute_difference add_loss compute_weighted_loss cosine_distance get_losses get_regularization_losses
    get_total_loss hinge_loss log_loss mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy
    softmax_cross_entropy sparse_softmax_cross_entropy"""
_METRICS = """
    accuracy aggregate_metric_map aggregate_metrics auc_using_histogram auc_with_confidence_intervals cohen_kappa
    count f1_score precision_at_recall precision_recall_at_equal_thresholds recall_at_precision
    sparse_recall_at_top_k streaming_accuracy streaming_auc streaming_concat streaming_covariance
    streaming_curve_points streaming_dynamic_auc streaming_false_negative_rate
    streaming_false_negative_rate_at_thresholds streaming_false_negatives streaming_false_negatives_at_thresholds
    streaming_false_positive_rate streaming_false_positive_rate_at_thresholds streaming_false_positives
    streaming_false_positives_at_thresholds streaming_mean streaming_mean_absolute_error
    streaming_mean_cosine_distance streaming_mean_iou streaming_mean_relative_error streaming_mean_squared_error
    streaming_mean_tensor streaming_pearson_correlation streaming_percentage_less streaming_precision
    streaming_precision_at_thresholds streaming_recall streaming_recall_at_k streaming_recall_at_thresholds
    streaming_root_mean_squared_error streaming_sensitivity_at_specificity streaming_sparse_average_precision_at_k
    streaming_sparse_average_precision_at_top_k streaming_sparse_precision_at_k
    streaming_sparse_precision_at_top_k streaming_sparse_recall_at_k streaming_specificity_at_sensitivity
    streaming_true_negatives streaming_true_negatives_at_thresholds streaming_true_positives
    streaming_true_positives_at_thresholds"""

_SERVED = (
    ("tf.contrib.layers", "tf_slim.layers", _LAYERS),
    ("tf.contrib.slim", "tf_slim.layers", _LAYERS),
    ("tf.contrib.slim", "tf_slim.ops.variables", "assign_from_checkpoint assign_from_checkpoint_fn global_variable"),
    ("tf.contrib.losses", "tf_slim.losses", _LOSSES),
    ("tf.contrib.losses.metric_learning", "tf_slim.losses.metric_learning", """
        cluster_loss contrastive_loss lifted_struct_loss npairs_loss npairs_loss_multilabel triplet_semihard_loss"""),
    ("tf.contrib.metrics", "tf_slim.metrics", _METRICS),
    ("tf.contrib.training", "tf_slim.training.training", """
        clip_gradient_norms clip_gradient_norms_fn multiply_gradients train"""),
)  # fmt: skip
_MODULES = (
    ("tf.contrib.slim", "tf_slim", "evaluation learning losses metrics model_analyzer nets queues summaries"),
    ("tf.contrib.slim", "tf_slim.layers", "utils"),
    ("tf.contrib.slim", "tf_slim.data", """
        data_decoder data_provider dataset dataset_data_provider parallel_reader prefetch_queue tfexample_decoder"""),
)  # fmt: skip
NAMES: dict[str, tuple[str, str]] = {
    **{f"{place}.{name}": (module, name) for place, module, names in _SERVED for name in names.split()},
    **{f"{place}.{name}": (f"{package}.{name}", "") for place, package, names in _MODULES for name in names.split()},
}
"""Dotted public name -> the module of the package and the name in it; "" where it is the module itself."""

PATHS = {
    "contrib.layers.python.layers": "tf_slim.layers",
    "contrib.layers.python.ops": "tf_slim.layers",
    "contrib.losses.python.losses": "tf_slim.losses",
    "contrib.losses.python.metric_learning.metric_loss_ops": "tf_slim.losses.metric_learning",
    "contrib.metrics.python.metrics": "tf_slim.metrics",
    "contrib.metrics.python.ops": "tf_slim.metrics",
    "contrib.slim.nets": "tf_slim.nets",
    "contrib.slim.python.slim": "tf_slim",
    "contrib.training.python.training.training": "tf_slim.training.training",
}
"""Path below ``tensorflow`` -> the module of the package that stands there, with those below it."""


@cache
def available() -> bool:
    """Whether the package is installed, when this was asked first."""
    return importlib.util.find_spec(PACKAGE) is not None


def members(module: str) -> list[str]:
    """The names in a public module such as ``tf.contrib.layers`` that the package serves; none where it is absent."""
    inner = [name.rpartition(".") for name in NAMES]
    return [last for place, _, last in inner if place == module] if available() else []


def load(name: str, bound: Callable[[], AbstractContextManager[None]]) -> Any:
    """The object of a name in ``NAMES``.

    Args:
      bound: inside of it ``import tensorflow``, with which the package's modules begin, means towerstrat.
    """
    module, attribute = NAMES[name]
    with bound():
        found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def module_at(path: str) -> ModuleType | None:
    """The package's module that stands at ``path`` below ``tensorflow``; None where it has none."""
    for place, package in PATHS.items():
        if path == place or path.startswith(f"{place}."):
            name = package + path.removeprefix(place)
            return importlib.import_module(name) if available() and importlib.util.find_spec(name) else None
    return None
