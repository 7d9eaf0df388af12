"""Adversarial losses of tensors: ``tf.contrib.gan.losses.wargs``.

``add_summaries`` of all of them changes nothing: there are no summaries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import clipping
from towerstrat.graph.ops.random import stateful
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.graph.scopes.variable_store import AUTO_REUSE
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.models import losses
from towerstrat.models.losses import Reduction
from towerstrat.models.variable_collections import get_trainable_variables

_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS


def _both(
    of_real: Any, of_generated: Any, real_weights: Any, generated_weights: Any, scope: str, reduction: str
) -> tuple[Tensor, Tensor]:
    """The weighted losses on real and on generated data, in no collection."""
    generated = losses.compute_weighted_loss(of_generated, generated_weights, scope, None, reduction)
    return losses.compute_weighted_loss(of_real, real_weights, scope, None, reduction), generated


def _added(loss: Tensor, collection: str | None) -> Tensor:
    if collection:
        losses.add_loss(loss, collection)
    return loss


# ---- Wasserstein (https://arxiv.org/abs/1701.07875) -----------------------------------------------------------------


def wasserstein_generator_loss(
    discriminator_gen_outputs: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """``-D(G(z))``; other arguments as of ``tf.losses.compute_weighted_loss``."""
    with name_scope(scope, "generator_wasserstein_loss") as scope:
        loss = -arithmetic.to_float(discriminator_gen_outputs)
        return losses.compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def wasserstein_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, real_weights: Any = 1.0,
    generated_weights: Any = 1.0, scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """``D(G(z)) - D(x)``, each weighted and reduced by itself."""
    with name_scope(scope, "discriminator_wasserstein_loss") as scope:
        real, generated = (
            arithmetic.to_float(discriminator_real_outputs),
            arithmetic.to_float(discriminator_gen_outputs),
        )
        real.shape.assert_is_compatible_with(generated.shape)
        on_real, on_generated = _both(real, generated, real_weights, generated_weights, scope, reduction)
        return _added(on_generated - on_real, loss_collection)


def wasserstein_gradient_penalty(
    real_data: Any, generated_data: Any, generator_inputs: Any, discriminator_fn: Callable[..., Any],
    discriminator_scope: Any, epsilon: float = 1e-10, target: float = 1.0, one_sided: bool = False,
    weights: Any = 1.0, scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """``(|dD(x') / dx'| / target - 1)**2`` at random points x' between the data (https://arxiv.org/abs/1704.00028).

    Args:
      discriminator_fn: (data, generator inputs) -> output, or a tuple that begins with it.
      discriminator_scope: its variable scope, which is used again.
      epsilon: added under the root.
      target: the norm that costs nothing. one_sided: smaller norms cost nothing too.

    Raises:
      ValueError: data of unknown rank.
    """
    with name_scope(scope, "wasserstein_gradient_penalty") as scope:
        real, generated = convert_to_tensor(real_data), convert_to_tensor(generated_data)
        for name, tensor in (("real_data", real), ("generated_data", generated)):
            if tensor.shape.ndims is None:
                raise ValueError(f"`{name}` can't have unknown rank.")
        differences = generated - real
        sizes = differences.shape.as_list()
        batch = sizes[0] or arrays.shape(differences)[0]
        share = stateful.random_uniform([batch, *[1] * (len(sizes) - 1)])
        between = real + share * differences
        with name_scope(""), variable_scope(discriminator_scope, "gpenalty_dscope", reuse=AUTO_REUSE):
            output = discriminator_fn(between, generator_inputs)
        slopes = gradients(output[0] if isinstance(output, tuple) else output, between)[0]
        if not isinstance(slopes, Tensor):
            raise ValueError("The discriminator's output does not depend on its images.")
        squares = reductions.reduce_sum(arithmetic.square(slopes), list(range(1, len(sizes))))
        penalties = arithmetic.sqrt(squares + epsilon) / target - 1.0
        if one_sided:
            penalties = arithmetic.maximum(0.0, penalties)
        return losses.compute_weighted_loss(arithmetic.square(penalties), weights, scope, loss_collection, reduction)


# ---- classes (https://arxiv.org/abs/1610.09585) ---------------------------------------------------------------------


def acgan_discriminator_loss(
    discriminator_real_classification_logits: Any, discriminator_gen_classification_logits: Any,
    one_hot_labels: Any, label_smoothing: float = 0.0, real_weights: Any = 1.0, generated_weights: Any = 1.0,
    scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN,
    add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """The cross entropies of the classes of real (with ``label_smoothing``) and of generated data."""
    with name_scope(scope, "acgan_discriminator_loss") as scope:
        on_generated = losses.softmax_cross_entropy(
            one_hot_labels, discriminator_gen_classification_logits, generated_weights, 0, scope, None, reduction
        )
        on_real = losses.softmax_cross_entropy(
            one_hot_labels, discriminator_real_classification_logits, real_weights, label_smoothing, scope, None,
            reduction,
        )  # fmt: skip
        return _added(on_generated + on_real, loss_collection)


def acgan_generator_loss(
    discriminator_gen_classification_logits: Any, one_hot_labels: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """The cross entropy of the classes of generated data."""
    with name_scope(scope, "acgan_generator_loss") as scope:
        return losses.softmax_cross_entropy(
            one_hot_labels, discriminator_gen_classification_logits, weights, 0, scope, loss_collection, reduction
        )


# ---- minimax (https://arxiv.org/abs/1406.2661) ----------------------------------------------------------------------


def minimax_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, label_smoothing: float = 0.25,
    real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """``-log(sigmoid(D(x))) - log(1 - sigmoid(D(G(z))))``, the labels of real data smoothed."""
    with name_scope(scope, "discriminator_minimax_loss") as scope:
        on_real = losses.sigmoid_cross_entropy(
            arrays.ones_like(discriminator_real_outputs), discriminator_real_outputs, real_weights, label_smoothing,
            scope, None, reduction,
        )  # fmt: skip
        on_generated = losses.sigmoid_cross_entropy(
            arrays.zeros_like(discriminator_gen_outputs), discriminator_gen_outputs, generated_weights, 0, scope, None,
            reduction,
        )  # fmt: skip
        return _added(on_real + on_generated, loss_collection)


def minimax_generator_loss(
    discriminator_gen_outputs: Any, label_smoothing: float = 0.0, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """Less the discriminator's minimax loss, with ones as its outputs on real data."""
    with name_scope(scope, "generator_minimax_loss") as scope:
        return -minimax_discriminator_loss(
            arrays.ones_like(discriminator_gen_outputs), discriminator_gen_outputs, label_smoothing, weights, weights,
            scope, loss_collection, reduction,
        )  # fmt: skip


def modified_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, label_smoothing: float = 0.25,
    real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """``minimax_discriminator_loss``, beside ``modified_generator_loss``."""
    return minimax_discriminator_loss(
        discriminator_real_outputs, discriminator_gen_outputs, label_smoothing, real_weights, generated_weights,
        scope or "discriminator_modified_loss", loss_collection, reduction,
    )  # fmt: skip


def modified_generator_loss(
    discriminator_gen_outputs: Any, label_smoothing: float = 0.0, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """``-log(sigmoid(D(G(z))))``."""
    with name_scope(scope, "generator_modified_loss") as scope:
        return losses.sigmoid_cross_entropy(
            arrays.ones_like(discriminator_gen_outputs), discriminator_gen_outputs, weights, label_smoothing, scope,
            loss_collection, reduction,
        )  # fmt: skip


# ---- least squares (https://arxiv.org/abs/1611.04076) ---------------------------------------------------------------


def least_squares_generator_loss(
    discriminator_gen_outputs: Any, real_label: float = 1, weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """``(D(G(z)) - real_label)**2 / 2``."""
    with name_scope(scope, "lsq_generator_loss") as scope:
        loss = arithmetic.squared_difference(arithmetic.to_float(discriminator_gen_outputs), real_label) / 2.0
        return losses.compute_weighted_loss(loss, weights, scope, loss_collection, reduction)


def least_squares_discriminator_loss(
    discriminator_real_outputs: Any, discriminator_gen_outputs: Any, real_label: float = 1, fake_label: float = 0,
    real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES, reduction: str = _MEAN, add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """``((D(x) - real_label)**2 + (D(G(z)) - fake_label)**2) / 2``."""
    with name_scope(scope, "lsq_discriminator_loss") as scope:
        real, generated = (
            arithmetic.to_float(discriminator_real_outputs),
            arithmetic.to_float(discriminator_gen_outputs),
        )
        real.shape.assert_is_compatible_with(generated.shape)
        of_real = arithmetic.squared_difference(real, real_label) / 2.0
        of_generated = arithmetic.squared_difference(generated, fake_label) / 2.0
        on_real, on_generated = _both(of_real, of_generated, real_weights, generated_weights, scope, reduction)
        return _added(on_real + on_generated, loss_collection)


# ---- beside other losses --------------------------------------------------------------------------------------------


def cycle_consistency_loss(
    data_x: Any, reconstructed_data_x: Any, data_y: Any, reconstructed_data_y: Any, scope: str | None = None,
    add_summaries: bool = False,
) -> Tensor:  # fmt: skip
    """The mean absolute differences of data and what came back, of x and y in equal parts."""
    with name_scope(scope, "cycle_consistency_loss"):
        one = losses.absolute_difference(data_x, reconstructed_data_x)
        return (one + losses.absolute_difference(data_y, reconstructed_data_y)) / 2.0


def combine_adversarial_loss(
    main_loss: Tensor, adversarial_loss: Tensor, weight_factor: Any = None, gradient_ratio: Any = None,
    gradient_ratio_epsilon: float = 1e-6, variables: Any = None, scalar_summaries: bool = True,
    gradient_summaries: bool = True, scope: str | None = None,
) -> Tensor:  # fmt: skip
    """A loss and a share of an adversarial one.

    Args:
      weight_factor: that share; or
      gradient_ratio: the ratio of the norms of their gradients, by which the share is chosen in each step.
      variables: of these gradients; default all trainable ones.
      scalar_summaries, gradient_summaries: change nothing: there are no summaries.

    Raises:
      ValueError: both or none of ``weight_factor`` and ``gradient_ratio``.
    """
    for loss in (main_loss, adversarial_loss):
        loss.shape.assert_is_compatible_with([])
    if weight_factor is None and gradient_ratio is None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be `None.`")
    if weight_factor is not None and gradient_ratio is not None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be specified.")
    with name_scope(scope, "adversarial_loss"):
        if weight_factor is not None:
            return main_loss + arrays.stop_gradient(weight_factor) * adversarial_loss
        chosen = get_trainable_variables() if variables is None else variables
        main, adversarial = (_norm(gradients(loss, chosen)) for loss in (main_loss, adversarial_loss))
        share = main / (adversarial + gradient_ratio_epsilon) / gradient_ratio
        return main_loss + arrays.stop_gradient(share) * adversarial_loss


def _norm(tensors: Any) -> Any:
    """The norm of all tensors together, computed without overflow; 0 where there are none."""
    there = [t for t in tensors if t is not None]
    if not there:
        return 0.0
    largest = reductions.reduce_max(arrays.stack([reductions.reduce_max(arithmetic.abs(t)) for t in there]))
    return largest * clipping.global_norm([t / largest for t in there])
