"""Learning rates that follow the step number: tensors, and eagerly functions that compute the rate of the moment."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import define_op, same
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import DType, int32, int64
from towerstrat.graph.ops.array.arrays import where
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.math import arithmetic as ops
from towerstrat.graph.ops.random.stateful import random_normal


def _ratio(steps: Any, period: Any) -> Any:
    """``steps / period``, whole where it is whole.

    Compilers multiply by the reciprocal of a constant, which gives 0.99999994 for 41 / 41: a staircase would be late by
    a step, and the root of what is left of a decay could be that of a negative number.
    """
    ratio = steps / period
    whole = jnp.round(ratio)
    return jnp.where(whole * period == steps, whole, ratio)


def _of_ratio(inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
    """That of a quotient, at whole periods too, where rounding has none."""
    _, period = inputs
    by_steps = cotangents[0] / period
    return [by_steps, -by_steps * outputs[0]]


define_op(
    "StepRatio", same, _ratio, numpy=lambda steps, period: np.divide(steps, period), gradient=_of_ratio
)  # fmt: skip


class _Parts(NamedTuple):
    """What a schedule computes with: the scope's name, the initial rate, and the step in the rate's type."""

    scope: str
    rate: Tensor
    step: Tensor
    dtype: DType

    def ratio(self, step: Tensor, period: Any) -> Tensor:
        """How many periods of steps have passed."""
        return add_op("StepRatio", [step, ops.cast(period, self.dtype)], name="ratio")


def _called_in_graphs(deferred: Callable[..., Callable[[], Any]]) -> Callable[..., Any]:
    """Decorates what returns a function that computes the rate of the moment: in graphs that is called at once."""

    @functools.wraps(deferred)
    def rate(*args: Any, **kwargs: Any) -> Any:
        compute = deferred(*args, **kwargs)
        return compute if get_default_graph().executing_eagerly else compute()

    return rate


def deferred_form(schedule: Any) -> Callable[..., Callable[[], Any]]:
    """The form of a schedule that returns a function in graphs too."""
    return schedule.__wrapped__


def _follows_step(missing: str) -> Callable[[Callable[..., Tensor]], Callable[..., Any]]:
    """Decorates a schedule: without a step it raises; eagerly it is a function that computes the rate of the moment."""

    def decorate(schedule: Callable[..., Tensor]) -> Callable[..., Any]:
        @functools.wraps(schedule)
        def deferred(learning_rate: Any, global_step: Any, *args: Any, **kwargs: Any) -> Callable[[], Any]:
            if global_step is None:
                raise ValueError(missing)
            return functools.partial(schedule, learning_rate, global_step, *args, **kwargs)

        return _called_in_graphs(deferred)

    return decorate


@contextmanager
def _schedule(
    name: str | None, default: str, learning_rate: Any, global_step: Any, rate_name: str = "learning_rate"
) -> Iterator[_Parts]:
    with name_scope(name, default) as scope:
        rate = convert_to_tensor(learning_rate, name=rate_name)
        yield _Parts(scope, rate, ops.cast(global_step, rate.dtype), rate.dtype)


def _cosine(fraction: Tensor) -> Tensor:
    return 0.5 * (1.0 + ops.cos(constant(math.pi, fraction.dtype) * fraction))


@_follows_step("global_step is required for exponential_decay.")
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """``learning_rate * decay_rate ** (global_step / decay_steps)``, a scalar of ``learning_rate``'s type.

    Args:
      learning_rate, decay_rate: numbers or tensors.
      global_step, decay_steps: integers, or tensors or variables of them.
      staircase: round the exponent down.

    Raises:
      ValueError: ``global_step`` is None.
    """
    with _schedule(name, "ExponentialDecay", learning_rate, global_step) as parts:
        factor = ops.cast(decay_rate, parts.dtype)
        exponent = parts.ratio(parts.step, decay_steps)
        if staircase:
            exponent = ops.floor(exponent)
        return ops.multiply(parts.rate, ops.pow(factor, exponent), name=parts.scope)


@_follows_step("global_step is required for natural_exp_decay.")
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """``learning_rate * exp(-decay_rate * global_step / decay_steps)``; arguments as of ``exponential_decay``."""
    with _schedule(name, "NaturalExpDecay", learning_rate, global_step) as parts:
        factor = ops.cast(decay_rate, parts.dtype)
        exponent = parts.ratio(parts.step, decay_steps)
        if staircase:
            exponent = ops.floor(exponent)
        return ops.multiply(parts.rate, ops.exp(ops.negative(factor) * exponent), name=parts.scope)


@_follows_step("global_step is required for inverse_time_decay.")
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """``learning_rate / (1 + decay_rate * global_step / decay_steps)``; arguments as of ``exponential_decay``."""
    with _schedule(name, "InverseTimeDecay", learning_rate, global_step) as parts:
        factor = ops.cast(decay_rate, parts.dtype)
        time = parts.ratio(parts.step, decay_steps)
        if staircase:
            time = ops.floor(time)
        return ops.div(parts.rate, 1 + factor * time, name=parts.scope)


@_follows_step("global_step is required for polynomial_decay.")
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """From ``learning_rate`` to ``end_learning_rate`` in ``decay_steps`` steps, along ``(1 - t) ** power``.

    Args:
      cycle: past the end, decay towards the next multiple of ``decay_steps`` instead of staying at the end.

    Raises:
      ValueError: ``global_step`` is None.
    """
    with _schedule(name, "PolynomialDecay", learning_rate, global_step) as parts:
        end, power = ops.cast(end_learning_rate, parts.dtype), ops.cast(power, parts.dtype)
        step, steps = parts.step, ops.cast(decay_steps, parts.dtype)
        if cycle:
            started = ops.greater(step, constant(0, parts.dtype))
            steps = steps * where(started, ops.ceil(parts.ratio(step, steps)), constant(1, parts.dtype))
        else:
            step = ops.minimum(step, steps)
        left = ops.pow(1 - parts.ratio(step, steps), power)
        return ops.add((parts.rate - end) * left, end, name=parts.scope)


@_called_in_graphs
def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Any:
    """``values[i]`` where ``boundaries[i - 1] < x <= boundaries[i]``.

    Args:
      x: a scalar, usually the global step.
      boundaries: increasing numbers of ``x``'s type.
      values: numbers of one type, one more than boundaries.

    Raises:
      ValueError: their numbers or types do not fit.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            "The length of boundaries should be 1 less than the length of values: got "
            f"{len(boundaries)} boundaries and {len(values)} values."
        )
    return functools.partial(_piecewise_constant, x, boundaries, values, name)


def _piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None) -> Tensor:
    with name_scope(name, "PiecewiseConstant"):
        limits = [convert_to_tensor(b) for b in boundaries]
        rates = [convert_to_tensor(v) for v in values]
        x = convert_to_tensor(x)
        for i, limit in enumerate(limits):
            if limit.dtype is int32 and x.dtype is int64:
                limits[i] = ops.cast(limit, int64)
            elif limit.dtype is not x.dtype:
                raise ValueError(f"Boundaries ({limit.dtype}) must have the same dtype as x ({x.dtype}).")
        for rate in rates[1:]:
            if rate.dtype is not rates[0].dtype:
                raise ValueError(
                    f"Values must have elements all with the same dtype ({rates[0].dtype} vs {rate.dtype})."
                )
        result = rates[-1]
        for limit, rate in zip(reversed(limits), reversed(rates[:-1]), strict=True):
            result = where(ops.less_equal(x, limit), rate, result)
        return result


@_follows_step("cosine decay requires global_step")
def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None
) -> Tensor:
    """From ``learning_rate`` to ``alpha`` times that in ``decay_steps`` steps, along half a cosine.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2016).

    Raises:
      ValueError: ``global_step`` is None.
    """
    with _schedule(name, "CosineDecay", learning_rate, global_step) as parts:
        steps, alpha = ops.cast(decay_steps, parts.dtype), ops.cast(alpha, parts.dtype)
        decayed = (1 - alpha) * _cosine(parts.ratio(ops.minimum(parts.step, steps), steps)) + alpha
        return ops.multiply(parts.rate, decayed)


@_follows_step("cosine decay restarts requires global_step")
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cosine decays one after the other, each ``t_mul`` times as long and ``m_mul`` times as high as the last.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2016).

    Args:
      first_decay_steps: length of the first decay.
      alpha: the lowest rate, as a part of the highest.

    Raises:
      ValueError: ``global_step`` is None.
    """
    with _schedule(name, "SGDRDecay", learning_rate, global_step, "initial_learning_rate") as parts:
        equal_lengths = isinstance(t_mul, float | int) and t_mul == 1
        lengths, heights = ops.cast(t_mul, parts.dtype), ops.cast(m_mul, parts.dtype)
        alpha = ops.cast(alpha, parts.dtype)
        time = parts.ratio(parts.step, first_decay_steps)
        restarts = ops.floor(time)
        fraction = time - restarts
        if not equal_lengths:
            count = ops.floor(parts.ratio(ops.log(1.0 - time * (1.0 - lengths)), ops.log(lengths)))
            length = lengths**count
            grown = (time - (1.0 - length) / (1.0 - lengths)) / length
            if isinstance(t_mul, float | int):
                restarts, fraction = count, grown
            else:
                is_one = ops.equal(lengths, constant(1, parts.dtype))
                restarts, fraction = where(is_one, restarts, count), where(is_one, fraction, grown)
        decayed = (1 - alpha) * (heights**restarts * _cosine(fraction)) + alpha
        return ops.multiply(parts.rate, decayed, name=parts.scope)


@_follows_step("linear cosine decay requires global_step")
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """``learning_rate * ((alpha + 1 - t) * (1 + cos(2 pi num_periods t)) / 2 + beta)``, t = step / decay_steps up to 1.

    Bello et al., "Neural Optimizer Search with Reinforcement Learning" (2017).

    Raises:
      ValueError: ``global_step`` is None.
    """
    with _schedule(name, "LinearCosineDecay", learning_rate, global_step) as parts:
        steps, periods, alpha, beta = (ops.cast(v, parts.dtype) for v in (decay_steps, num_periods, alpha, beta))
        step = ops.minimum(parts.step, steps)
        linear = parts.ratio(steps - step, steps)
        decayed = (alpha + linear) * _cosine(2.0 * periods * parts.ratio(step, steps)) + beta
        return ops.multiply(parts.rate, decayed, name=parts.scope)


@_follows_step("noisy linear cosine decay requires global_step")
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """``linear_cosine_decay`` with normal noise added to its linear part, the same for all towers.

    Args:
      initial_variance, variance_decay: the noise's variance is ``initial_variance / (1 + step) ** variance_decay``.

    Raises:
      ValueError: ``global_step`` is None.
    """
    with _schedule(name, "NoisyLinearCosineDecay", learning_rate, global_step) as parts:
        steps, first, decay, periods, alpha, beta = (
            ops.cast(v, parts.dtype) for v in (decay_steps, initial_variance, variance_decay, num_periods, alpha, beta)
        )
        step = ops.minimum(parts.step, steps)
        deviation = ops.sqrt(first / ops.pow(1.0 + step, decay))
        with get_default_graph().under(None):
            noise = random_normal([], dtype=parts.dtype)
        linear = parts.ratio(steps - step, steps) + noise * deviation
        decayed = (alpha + linear) * _cosine(2.0 * periods * parts.ratio(step, steps)) + beta
        return ops.multiply(parts.rate, decayed, name=parts.scope)
