"""Losses of models: ``tf.contrib.gan.losses``, and ``gan_loss`` and its kin, which put them together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from towerstrat.graph.ir.default_graph import control_dependencies, name_scope
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import is_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control.assertions import assert_greater_equal
from towerstrat.graph.ops.math import reductions
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.models import losses as general
from towerstrat.training.gan import tensor_losses
from towerstrat.training.gan.gan_models import ACGANModel, CycleGANLoss, CycleGANModel, GANLoss, GANModel, StarGANModel

Loss = Callable[..., Tensor]


def _of_model(loss_fn: Loss) -> Loss:
    """The loss of a model: arguments that the model has as fields come from it."""
    parameters = inspect.signature(loss_fn).parameters

    def loss(gan_model: Any, **kwargs: Any) -> Tensor:
        twice = set(kwargs) & set(gan_model._fields)
        if twice:
            raise ValueError(
                f"The following args are present in both the tuple and keyword args for {loss_fn.__name__}: {twice}"
            )
        found = {name: getattr(gan_model, name) for name in parameters if name in gan_model._fields}
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in found and name not in kwargs:
                raise ValueError(f"`{name}` must be supplied to {loss_fn.__name__} loss function.")
        return loss_fn(**found, **kwargs)

    loss.__name__ = loss_fn.__name__
    loss.__doc__ = f"``wargs.{loss_fn.__name__}`` of a model, whose fields stand for arguments of their names."
    return loss


wasserstein_generator_loss = _of_model(tensor_losses.wasserstein_generator_loss)
wasserstein_discriminator_loss = _of_model(tensor_losses.wasserstein_discriminator_loss)
wasserstein_gradient_penalty = _of_model(tensor_losses.wasserstein_gradient_penalty)
acgan_discriminator_loss = _of_model(tensor_losses.acgan_discriminator_loss)
acgan_generator_loss = _of_model(tensor_losses.acgan_generator_loss)
minimax_discriminator_loss = _of_model(tensor_losses.minimax_discriminator_loss)
minimax_generator_loss = _of_model(tensor_losses.minimax_generator_loss)
modified_discriminator_loss = _of_model(tensor_losses.modified_discriminator_loss)
modified_generator_loss = _of_model(tensor_losses.modified_generator_loss)
least_squares_generator_loss = _of_model(tensor_losses.least_squares_generator_loss)
least_squares_discriminator_loss = _of_model(tensor_losses.least_squares_discriminator_loss)


def cycle_consistency_loss(
    cyclegan_model: CycleGANModel, scope: str | None = None, add_summaries: bool = False
) -> Tensor:
    """How far what went both ways is from what it was. ``add_summaries`` changes nothing."""
    if not isinstance(cyclegan_model, CycleGANModel):
        raise ValueError(f"`cyclegan_model` must be a `CycleGANModel`. Instead, was {type(cyclegan_model)}.")
    return tensor_losses.cycle_consistency_loss(
        cyclegan_model.model_x2y.generator_inputs, cyclegan_model.reconstructed_x,
        cyclegan_model.model_y2x.generator_inputs, cyclegan_model.reconstructed_y, scope,
    )  # fmt: skip


def combine_adversarial_loss(
    gan_loss: GANLoss, gan_model: Any, non_adversarial_loss: Tensor, weight_factor: Any = None,
    gradient_ratio: Any = None, gradient_ratio_epsilon: float = 1e-6, scalar_summaries: bool = True,
    gradient_summaries: bool = True,
) -> GANLoss:  # fmt: skip
    """The losses, the generator's combined with another one; arguments as of ``wargs.combine_adversarial_loss``."""
    combined = tensor_losses.combine_adversarial_loss(
        non_adversarial_loss, gan_loss.generator_loss, weight_factor, gradient_ratio, gradient_ratio_epsilon,
        gan_model.generator_variables, scalar_summaries, gradient_summaries,
    )  # fmt: skip
    return gan_loss._replace(generator_loss=combined)


def stargan_generator_loss_wrapper(loss_fn: Loss) -> Loss:
    """A generator's loss of a ``StarGANModel``, from one of the discriminator's output."""
    return lambda stargan_model, **kwargs: loss_fn(
        stargan_model.discriminator_generated_data_source_predication, **kwargs
    )


def stargan_discriminator_loss_wrapper(loss_fn: Loss) -> Loss:
    """A discriminator's loss of a ``StarGANModel``, from one of its outputs on real and generated data."""
    return lambda stargan_model, **kwargs: loss_fn(
        stargan_model.discriminator_input_data_source_predication,
        stargan_model.discriminator_generated_data_source_predication,
        **kwargs,
    )


def stargan_gradient_penalty_wrapper(loss_fn: Loss) -> Loss:
    """A gradient penalty of a ``StarGANModel``, from ``wargs.wasserstein_gradient_penalty`` or its like."""
    return lambda stargan_model, **kwargs: loss_fn(
        real_data=stargan_model.input_data,
        generated_data=stargan_model.generated_data,
        generator_inputs=stargan_model.input_data_domain_label.shape.as_list()[-1],
        discriminator_fn=stargan_model.discriminator_fn,
        discriminator_scope=stargan_model.discriminator_scope,
        **kwargs,
    )


# ---- put together ---------------------------------------------------------------------------------------------------


def _weight(value: Any, name: str) -> Any:
    """A weight: None, a number or a tensor. Raises ValueError for a negative one."""
    if is_tensor(value):
        value.shape.assert_is_compatible_with([])
        with control_dependencies([assert_greater_equal(value, 0.0)]):
            return arrays.identity(value)
    if value is not None and value < 0:
        raise ValueError(f"`{name}` must be greater than 0. Instead, was {value}")
    return value


def _counts(weight: Any) -> bool:
    return weight is not None and (is_tensor(weight) or weight > 0)


def _pooled(model: Any, tensor_pool_fn: Callable[[Any], Any] | None) -> Any:
    """The model with generated data from a pool, judged again."""
    if tensor_pool_fn is None:
        return model
    if not isinstance(model, GANModel | ACGANModel):
        raise ValueError(f"Tensor pool does not support `model`: {type(model)}.")
    inputs, generated = tensor_pool_fn((model.generator_inputs, model.generated_data))
    with variable_scope(model.discriminator_scope, reuse=True):
        output = model.discriminator_fn(generated, inputs)
    model = model._replace(generator_inputs=inputs, generated_data=generated)
    if isinstance(model, GANModel):
        return model._replace(discriminator_gen_outputs=output)
    return model._replace(discriminator_gen_outputs=output[0], discriminator_gen_classification_logits=output[1])


def gan_loss(
    model: Any,
    generator_loss_fn: Loss = wasserstein_generator_loss,
    discriminator_loss_fn: Loss = wasserstein_discriminator_loss,
    gradient_penalty_weight: Any = None,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    mutual_information_penalty_weight: Any = None,
    aux_cond_generator_weight: Any = None,
    aux_cond_discriminator_weight: Any = None,
    tensor_pool_fn: Callable[[Any], Any] | None = None,
    add_summaries: bool = True,
) -> GANLoss:
    """The losses of a model's generator and discriminator, with the regularization losses of their scopes.

    Args:
      model: a ``GANModel`` or ``ACGANModel``.
      generator_loss_fn, discriminator_loss_fn: (model, add_summaries=) -> loss.
      gradient_penalty_weight: of ``wasserstein_gradient_penalty``, whose arguments begin with ``gradient_penalty_``.
      mutual_information_penalty_weight: of an ``InfoGANModel``, of which there are none: must be None or 0.
      aux_cond_generator_weight, aux_cond_discriminator_weight: of the losses of an ``ACGANModel``'s classes.
      tensor_pool_fn: (inputs, generated data) -> such a pair, from which the discriminator learns.
      add_summaries: passed on.

    Raises:
      ValueError: negative weights, or some that the model cannot have.
    """
    penalty = _weight(gradient_penalty_weight, "gradient_penalty_weight")
    information = _weight(mutual_information_penalty_weight, "infogan_weight")
    of_generator = _weight(aux_cond_generator_weight, "aux_cond_generator_weight")
    of_discriminator = _weight(aux_cond_discriminator_weight, "aux_cond_discriminator_weight")
    if _counts(information):
        raise ValueError(
            "When `mutual_information_penalty_weight` is provided, `model` must be an `InfoGANModel`. Instead, was "
            f"{type(model)}."
        )
    if (_counts(of_generator) or _counts(of_discriminator)) and not isinstance(model, ACGANModel):
        raise ValueError(
            "When `aux_cond_generator_weight` or `aux_cond_discriminator_weight` is provided, `model` must be an "
            f"`ACGANModel`. Instead, was {type(model)}."
        )
    pooled = _pooled(model, tensor_pool_fn)
    generating = generator_loss_fn(model, add_summaries=add_summaries)
    judging = discriminator_loss_fn(pooled, add_summaries=add_summaries)
    if _counts(penalty):
        judging += penalty * wasserstein_gradient_penalty(
            pooled, epsilon=gradient_penalty_epsilon, target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided, add_summaries=add_summaries,
        )  # fmt: skip
    if _counts(of_generator):
        generating += of_generator * acgan_generator_loss(model, add_summaries=add_summaries)
    if _counts(of_discriminator):
        judging += of_discriminator * acgan_discriminator_loss(pooled, add_summaries=add_summaries)
    return GANLoss(
        generating + general.get_regularization_loss(model.generator_scope.name),
        judging + general.get_regularization_loss(model.discriminator_scope.name),
    )


def cyclegan_loss(
    model: CycleGANModel,
    generator_loss_fn: Loss = least_squares_generator_loss,
    discriminator_loss_fn: Loss = least_squares_discriminator_loss,
    cycle_consistency_loss_fn: Loss = cycle_consistency_loss,
    cycle_consistency_loss_weight: Any = 10.0,
    **kwargs: Any,
) -> CycleGANLoss:
    """``gan_loss`` of both directions, with ``cycle_consistency_loss`` in both generators'; ``kwargs`` go to it."""
    if not isinstance(model, CycleGANModel):
        raise ValueError(f"`model` must be a `CycleGANModel`. Instead, was {type(model)}.")
    consistency = cycle_consistency_loss_fn(model, add_summaries=kwargs.get("add_summaries", True))
    more = _weight(cycle_consistency_loss_weight, "cycle_consistency_loss_weight") * consistency

    def one_way(scope: str, part: GANModel) -> GANLoss:
        with name_scope(scope):
            found = gan_loss(part, generator_loss_fn, discriminator_loss_fn, **kwargs)
            return found._replace(generator_loss=found.generator_loss + more)

    return CycleGANLoss(one_way("cyclegan_loss_x2y", model.model_x2y), one_way("cyclegan_loss_y2x", model.model_y2x))


def stargan_loss(
    model: StarGANModel,
    generator_loss_fn: Loss = stargan_generator_loss_wrapper(tensor_losses.wasserstein_generator_loss),
    discriminator_loss_fn: Loss = stargan_discriminator_loss_wrapper(tensor_losses.wasserstein_discriminator_loss),
    gradient_penalty_weight: Any = 10.0,
    gradient_penalty_epsilon: float = 1e-10,
    gradient_penalty_target: float = 1.0,
    gradient_penalty_one_sided: bool = False,
    reconstruction_loss_fn: Loss = general.absolute_difference,
    reconstruction_loss_weight: Any = 10.0,
    classification_loss_fn: Loss = general.softmax_cross_entropy,
    classification_loss_weight: Any = 1.0,
    classification_one_hot: bool = True,
    add_summaries: bool = True,
) -> GANLoss:
    """The losses of a ``StarGANModel``: of the source, the gradient, the reconstruction and the domains.

    Args:
      classification_one_hot: whether the domains are classes; else they are summed up.
      add_summaries: passed on. The other arguments are the losses, and their weights.
    """
    model.input_data_domain_label.shape.assert_has_rank(2)
    model.input_data_domain_label.shape[1:].assert_is_fully_defined()

    def classified(scope: str, labels: Any, logits: Any) -> Tensor:
        with name_scope(scope):
            loss = classification_loss_fn(onehot_labels=labels, logits=logits)
            return reductions.reduce_mean(loss if classification_one_hot else reductions.reduce_sum(loss, axis=1))

    generating = generator_loss_fn(model, add_summaries=add_summaries)
    judging = discriminator_loss_fn(model, add_summaries=add_summaries)
    if _counts(gradient_penalty_weight):
        penalty = stargan_gradient_penalty_wrapper(tensor_losses.wasserstein_gradient_penalty)
        judging += gradient_penalty_weight * penalty(
            model, epsilon=gradient_penalty_epsilon, target=gradient_penalty_target,
            one_sided=gradient_penalty_one_sided, add_summaries=add_summaries,
        )  # fmt: skip
    generating += reconstruction_loss_weight * reconstruction_loss_fn(model.input_data, model.reconstructed_data)
    generating += classification_loss_weight * classified(
        "generator_classification_loss", model.generated_data_domain_target,
        model.discriminator_generated_data_domain_predication,
    )  # fmt: skip
    judging += classification_loss_weight * classified(
        "discriminator_classification_loss", model.input_data_domain_label,
        model.discriminator_input_data_domain_predication,
    )  # fmt: skip
    return GANLoss(generating, judging)
