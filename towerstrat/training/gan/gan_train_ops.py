"""``gan_train_ops``: operations that train a model's generator and discriminator."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.default_graph import get_collection, name_scope
from towerstrat.graph.variables.variables import GraphKeys
from towerstrat.training.base.global_step import get_or_create_global_step
from towerstrat.training.gan.gan_models import CycleGANModel, GANTrainOps
from towerstrat.training.optimizers.optimizer import Optimizer
from towerstrat.training.optimizers.train_op import create_train_op


def gan_train_ops(
    model: Any,
    loss: Any,
    generator_optimizer: Optimizer,
    discriminator_optimizer: Optimizer,
    check_for_unused_update_ops: bool = True,
    **kwargs: Any,
) -> GANTrainOps:
    """What trains the generator and the discriminator on their losses, each its own variables.

    Args:
      model, loss: a ``GANModel`` and its ``GANLoss``, or a ``CycleGANModel`` and its ``CycleGANLoss``.
      generator_optimizer, discriminator_optimizer: optimizers.
      check_for_unused_update_ops: whether updates outside of both scopes are an error.
      kwargs: for ``create_train_op``; ``update_ops`` is restricted to each scope.

    Raises:
      ValueError: unused updates.
    """
    if isinstance(model, CycleGANModel):
        found = []
        for scope, part, its in (("x2y", model.model_x2y, loss.loss_x2y), ("y2x", model.model_y2x, loss.loss_y2x)):
            with name_scope(f"cyclegan_{scope}_train"):
                found.append(
                    gan_train_ops(
                        part, its, generator_optimizer, discriminator_optimizer, check_for_unused_update_ops, **kwargs
                    )
                )
        generators, discriminators, _ = zip(*found, strict=True)
        return GANTrainOps(generators, discriminators, get_or_create_global_step().assign_add(1))
    counted = get_or_create_global_step().assign_add(1)
    chosen = kwargs.pop("update_ops", None)
    updates = get_collection(GraphKeys.UPDATE_OPS) if chosen is None else list(chosen)
    generating, judging = (
        [u for u in get_collection(GraphKeys.UPDATE_OPS, scope.name) if u in updates]
        for scope in (model.generator_scope, model.discriminator_scope)
    )
    unused = [u for u in updates if u not in generating and u not in judging]
    if unused and check_for_unused_update_ops:
        raise ValueError(f"There are unused update ops: {unused}")
    with name_scope("generator_train"):
        generator = create_train_op(
            loss.generator_loss, generator_optimizer, None, generating, model.generator_variables, **kwargs
        )
    with name_scope("discriminator_train"):
        discriminator = create_train_op(
            loss.discriminator_loss, discriminator_optimizer, None, judging, model.discriminator_variables, **kwargs
        )
    return GANTrainOps(generator, discriminator, counted)
