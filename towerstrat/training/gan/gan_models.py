"""Models of ``tf.contrib.gan``: generators and discriminators called on data, as namedtuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.random import stateful
from towerstrat.graph.scopes.variable_scope import variable_scope
from towerstrat.models.variable_collections import get_trainable_variables


class GANModel(NamedTuple):
    """A generator and a discriminator on generated and on real data, with their variables, scopes and functions."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class InfoGANModel(NamedTuple):
    """A ``GANModel`` that predicts distributions of its structured inputs (https://arxiv.org/abs/1606.03657)."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    structured_generator_inputs: Any
    predicted_distributions: Any
    discriminator_and_aux_fn: Any


class ACGANModel(NamedTuple):
    """A ``GANModel`` whose discriminator also classifies (https://arxiv.org/abs/1610.09585)."""

    generator_inputs: Any
    generated_data: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    real_data: Any
    discriminator_real_outputs: Any
    discriminator_gen_outputs: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any
    one_hot_labels: Any
    discriminator_real_classification_logits: Any
    discriminator_gen_classification_logits: Any


class CycleGANModel(NamedTuple):
    """Two models that map two sets of data to each other, and what comes back (https://arxiv.org/abs/1703.10593)."""

    model_x2y: Any
    model_y2x: Any
    reconstructed_x: Any
    reconstructed_y: Any


class StarGANModel(NamedTuple):
    """A generator between several domains, and a discriminator of source and domain (arxiv.org/abs/1711.09020)."""

    input_data: Any
    input_data_domain_label: Any
    generated_data: Any
    generated_data_domain_target: Any
    reconstructed_data: Any
    discriminator_input_data_source_predication: Any
    discriminator_generated_data_source_predication: Any
    discriminator_input_data_domain_predication: Any
    discriminator_generated_data_domain_predication: Any
    generator_variables: Any
    generator_scope: Any
    generator_fn: Any
    discriminator_variables: Any
    discriminator_scope: Any
    discriminator_fn: Any


class GANLoss(NamedTuple):
    """The losses of generator and discriminator."""

    generator_loss: Any
    discriminator_loss: Any


class CycleGANLoss(NamedTuple):
    """The losses of both directions."""

    loss_x2y: Any
    loss_y2x: Any


class GANTrainOps(NamedTuple):
    """What trains generator and discriminator, and what counts steps."""

    generator_train_op: Any
    discriminator_train_op: Any
    global_step_inc_op: Any


class GANTrainSteps(NamedTuple):
    """How often generator and discriminator are trained in a step."""

    generator_train_steps: Any
    discriminator_train_steps: Any


def _tensors(value: Any) -> Any:
    """A tensor, or a list or dict of tensors."""
    if isinstance(value, list | tuple):
        return [convert_to_tensor(x) for x in value]
    if isinstance(value, dict):
        return {k: convert_to_tensor(v) for k, v in value.items()}
    return convert_to_tensor(value)


def _same_shape(generated: Tensor, real: Tensor) -> None:
    if not generated.shape.is_compatible_with(real.shape):
        raise ValueError(
            f"Generator output shape ({generated.shape}) must be the same shape as real data ({real.shape})."
        )


def gan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> GANModel:
    """Calls a generator, and a discriminator on its output and on real data (Goodfellow et al. 2014).

    Args:
      generator_fn: inputs -> generated data.
      discriminator_fn: (data, generator inputs) -> output, called twice with the same variables.
      real_data: a tensor.
      generator_inputs: a tensor, or a list or dict of tensors.
      generator_scope, discriminator_scope: variable scopes.
      check_shapes: raise ValueError where generated and real data differ in shape.
    """
    with variable_scope(generator_scope) as generating:
        inputs = _tensors(generator_inputs)
        generated = generator_fn(inputs)
    with variable_scope(discriminator_scope) as judging:
        of_generated = discriminator_fn(generated, inputs)
    with variable_scope(judging, reuse=True):
        real = convert_to_tensor(real_data)
        of_real = discriminator_fn(real, inputs)
    if check_shapes:
        _same_shape(generated, real)
    return GANModel(
        inputs, generated, get_trainable_variables(generating), generating, generator_fn, real, of_real, of_generated,
        get_trainable_variables(judging), judging, discriminator_fn,
    )  # fmt: skip


def acgan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    real_data: Any,
    generator_inputs: Any,
    one_hot_labels: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    check_shapes: bool = True,
) -> ACGANModel:
    """``gan_model`` whose discriminator gives (output, logits of classes).

    Args:
      one_hot_labels: of the batch. Other arguments as of ``gan_model``.

    Raises:
      TypeError: the discriminator gives no such pair.
    """
    with variable_scope(generator_scope) as generating:
        inputs = _tensors(generator_inputs)
        generated = generator_fn(inputs)
    with variable_scope(discriminator_scope) as judging, name_scope(f"{judging.name}/generated/"):
        of_generated, generated_logits = _pair(discriminator_fn(generated, inputs))
    with variable_scope(judging, reuse=True), name_scope(f"{judging.name}/real/"):
        real = convert_to_tensor(real_data)
        of_real, real_logits = _pair(discriminator_fn(real, inputs))
    if check_shapes:
        _same_shape(generated, real)
    return ACGANModel(
        inputs, generated, get_trainable_variables(generating), generating, generator_fn, real, of_real, of_generated,
        get_trainable_variables(judging), judging, discriminator_fn, one_hot_labels, real_logits, generated_logits,
    )  # fmt: skip


def _pair(output: Any) -> tuple[Any, Any]:
    try:
        one, two = output
    except (TypeError, ValueError):
        raise TypeError(
            "A discriminator function for ACGAN must output a tuple consisting of (discrimination logits, "
            "classification logits)."
        ) from None
    return one, two


def cyclegan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    data_x: Any,
    data_y: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
    model_x2y_scope: Any = "ModelX2Y",
    model_y2x_scope: Any = "ModelY2X",
    check_shapes: bool = True,
) -> CycleGANModel:
    """Two ``gan_model``, from x to y and from y to x, and the data that went both ways.

    Args:
      data_x, data_y: the real data. model_x2y_scope, model_y2x_scope: variable scopes. Others as of ``gan_model``.
    """

    def model(scope: Any, inputs: Any, real: Any) -> GANModel:
        with variable_scope(scope):
            return gan_model(
                generator_fn, discriminator_fn, real, inputs, generator_scope, discriminator_scope, check_shapes
            )

    def again(model: GANModel, data: Any) -> Any:
        with variable_scope(model.generator_scope, reuse=True):
            return model.generator_fn(data)

    x2y, y2x = model(model_x2y_scope, data_x, data_y), model(model_y2x_scope, data_y, data_x)
    return CycleGANModel(x2y, y2x, again(y2x, x2y.generated_data), again(x2y, y2x.generated_data))


def stargan_model(
    generator_fn: Callable[..., Any],
    discriminator_fn: Callable[..., Any],
    input_data: Any,
    input_data_domain_label: Any,
    generator_scope: Any = "Generator",
    discriminator_scope: Any = "Discriminator",
) -> StarGANModel:
    """A generator that moves data to random domains and back, and a discriminator of source and domain.

    Args:
      generator_fn: (data, one-hot domains ``[batch, domains]``) -> data.
      discriminator_fn: (data, number of domains) -> (source, logits of domains).
      input_data, input_data_domain_label: a tensor, or a list of tensors that are joined.
      generator_scope, discriminator_scope: variable scopes.
    """
    data, labels = (
        arrays.concat(nest.flatten(x), 0) if isinstance(x, list | tuple) else convert_to_tensor(x)
        for x in (input_data, input_data_domain_label)
    )
    labels.shape.assert_has_rank(2)
    labels.shape.assert_is_fully_defined()
    batch, domains = labels.shape.as_list()
    with variable_scope(generator_scope) as generating:
        targets = gather_scatter.one_hot(stateful.random_uniform([batch], 0, domains, int32), domains)
        generated = generator_fn(data, targets)
    with variable_scope(generating, reuse=True):
        reconstructed = generator_fn(generated, labels)
    with variable_scope(discriminator_scope) as judging:
        generated_source, generated_domain = discriminator_fn(generated, domains)
    with variable_scope(judging, reuse=True):
        source, domain = discriminator_fn(data, domains)
    return StarGANModel(
        data, labels, generated, targets, reconstructed, source, generated_source, domain, generated_domain,
        get_trainable_variables(generating), generating, generator_fn, get_trainable_variables(judging), judging,
        discriminator_fn,
    )  # fmt: skip
