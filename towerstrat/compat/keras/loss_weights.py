"""Weights and masks of losses in models of graphs, as the program's release divides by them.

Up to 1.12 a loss is ``sum(loss * weight * mask) / sum(weight * mask)``, from 1.13 to 1.15 it is
``sum(loss * weight * mask) / size``, and 2.15 divides the latter by the share of the mask that is on.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from towerstrat.compat.keras.program_release import LAST_OF_TOWERS, RELEASE


class _Losses(ModuleType):
    """``losses_utils`` of the package as models of graphs use it: what is not here is the package's.

    Args:
      module: the package's. masks: whether ``apply_valid_mask`` is what weighs; else ``compute_weighted_loss`` is.
    """

    def __init__(self, module: ModuleType, tf: Any, masks: bool):
        super().__init__(module.__name__, module.__doc__)
        name, weigh = ("apply_valid_mask", _with_masks) if masks else ("compute_weighted_loss", _with_weights)
        self.__dict__.update(vars(module))
        self.__dict__[name] = weigh(vars(module)[name], module, tf)


def weigh_graphs(module: ModuleType) -> None:
    """Let ``training_v1`` of the package weigh losses as the release does."""
    vars(module)["losses_utils"] = _Losses(vars(module)["losses_utils"], vars(module)["tf"], masks=True)


def weigh_steps(module: ModuleType) -> None:
    """Let ``training_eager_v1`` of the package do so."""
    vars(module)["losses_utils"] = _Losses(vars(module)["losses_utils"], vars(module)["tf"], masks=False)


def _with_masks(own: Callable[..., Any], utils: ModuleType, tf: Any) -> Callable[..., Any]:
    def apply_valid_mask(losses: Any, sw: Any, mask: Any, reduction: Any) -> Any:
        averages = reduction in (utils.ReductionV2.AUTO, utils.ReductionV2.SUM_OVER_BATCH_SIZE)
        if RELEASE.of_graphs >= (2, 0) or not averages:
            return own(losses, sw, mask, reduction)
        if RELEASE.of_graphs > LAST_OF_TOWERS:
            return utils.apply_mask(losses, sw, mask)
        if sw is None and mask is None:
            return _default(losses, tf)
        return _divided(losses, utils.apply_mask(losses, sw, mask), utils, tf)

    return apply_valid_mask


def _with_weights(own: Callable[..., Any], utils: ModuleType, tf: Any) -> Callable[..., Any]:
    def compute_weighted_loss(losses: Any, sample_weight: Any, reduction: Any) -> Any:
        if RELEASE.of_graphs <= LAST_OF_TOWERS:
            sample_weight = _divided(losses, sample_weight, utils, tf)
        return own(losses, sample_weight=sample_weight, reduction=reduction)

    return compute_weighted_loss


def _default(losses: Any, tf: Any) -> Any:
    """The weight of losses without weights: the size of the batch for those of pictures, which 1.12 adds up by rows.

    Its default weight of shape [1] does not broadcast to three dimensions, and it divides by the sum of that alone.
    """
    return tf.cast(tf.shape(losses)[0], losses.dtype) if len(losses.shape) > 2 else None


def _divided(losses: Any, weights: Any, utils: ModuleType, tf: Any) -> Any:
    """Weights whose mean over the losses is 1, so that the mean of the products is divided by the sum of the weights.

    Where all weights are zero, so is the result.
    """
    if weights is None:
        return None
    losses, _, weights = utils.squeeze_or_expand_dimensions(losses, sample_weight=tf.cast(weights, losses.dtype))
    for _ in range(len(losses.shape) - len(weights.shape)):
        weights = weights[..., None]
    spread = weights * tf.ones_like(losses)
    return tf.math.divide_no_nan(spread, tf.reduce_mean(spread))
