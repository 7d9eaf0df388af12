"""Rules of the optimizers that came with Keras, beside those that 1.12 had."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from towerstrat.graph.variables.rows import CellRows
from towerstrat.training.optimizers.update_ops import define_update


def _keras_momentum(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any, *, use_nesterov: bool) -> None:
    """The rate is part of what is accumulated, so that a change of it acts on new gradients alone."""
    var, accumulated = cells
    rate, momentum = scalars
    new = accumulated.set(accumulated.value * momentum - grad * rate)
    var.add(new * momentum - grad * rate if use_nesterov else new)


def _adagrad(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any, *, update_slots: bool) -> None:
    var, accumulated = cells
    rate, epsilon = scalars
    if update_slots:
        accumulated.add(grad * grad)
    var.subtract(grad * rate / (jnp.sqrt(accumulated.value) + epsilon))


def _amsgrad(cells: Sequence[CellRows], scalars: Sequence[Any], grad: Any) -> None:
    var, first, second, largest = cells
    beta1_power, beta2_power, rate, beta1, beta2, epsilon = scalars
    rate = rate * jnp.sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = first.value, second.value
    m = first.set(m + (grad - m) * (1 - beta1))
    v = second.set(v + (grad * grad - v) * (1 - beta2))
    greatest = largest.set(jnp.maximum(largest.value, v))
    var.subtract(m * rate / (jnp.sqrt(greatest) + epsilon))


KERAS_MOMENTUM = define_update("KerasMomentum", "var accum", "lr momentum", _keras_momentum)
ADAGRAD_V2 = define_update("AdagradV2", "var accum", "lr epsilon", _adagrad)
AMSGRAD = define_update("AdamWithAmsgrad", "var m v vhat", "beta1_power beta2_power lr beta1 beta2 epsilon", _amsgrad)
