"""Gradient formulas of element-wise types, as in ``math_grad.py`` and ``nn_grad.py`` of TensorFlow.

Each is a function of the output's cotangent g, the inputs x (and y), and the output, as later operations see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ops.math.polygamma import polygamma, zeta

Formula = Callable[..., Sequence[Any]]
"""(inputs, outputs, cotangents, **attributes) -> cotangent per input; see ``OpDef.gradient``."""


def of_input(function: Callable[[Any, Any], Any]) -> Formula:
    """The formula ``function(g, x)`` of a type with one input and one output."""
    return lambda inputs, outputs, cotangents, **attributes: [function(cotangents[0], inputs[0], **attributes)]


def of_output(function: Callable[..., Any]) -> Formula:
    """The formula ``function(g, output)`` of a type with one input and one output."""
    return lambda inputs, outputs, cotangents, **attributes: [function(cotangents[0], outputs[0], **attributes)]


def of_both(function: Callable[..., Any]) -> Formula:
    """The formula ``function(g, x, output)`` of a type with one input and one output."""
    return lambda inputs, outputs, cotangents, **attributes: [
        function(cotangents[0], inputs[0], outputs[0], **attributes)
    ]


def of_pair(function: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Formula:
    """The formula ``function(g, x, y)`` of a type with two inputs and one output; it gives both cotangents."""
    return lambda inputs, outputs, cotangents: function(cotangents[0], *inputs)


def zero_where_zero(g: Any, value: Any) -> Any:
    """``value``, but zero where no cotangent comes in, even where the derivative is infinite (as from 2.0 on)."""
    return jnp.where(g == 0, jnp.zeros((), value.dtype), value)


def sign(x: Any, numpy: Any = jnp) -> Any:
    """The sign; zero for NaN, as the original has it."""
    if numpy.iscomplexobj(x):
        return numpy.where(x == 0, x, x / numpy.abs(x))
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return numpy.sign(x)
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def bessel_i1e_gradient(g: Any, x: Any, y: Any) -> Any:
    tiny = jnp.logical_not(jnp.abs(x) > np.asarray(jnp.finfo(x.dtype).eps, x.dtype))  # NaN counts as such
    safe = jnp.where(tiny, jnp.ones((), x.dtype), x)
    return g * jnp.where(tiny, np.asarray(0.5, x.dtype), lax.bessel_i0e(safe) - y * (sign(safe) + 1 / safe))


# ---- two operands --------------------------------------------------------------------------------------------------


def div_no_nan(x: Any, y: Any, numpy: Any = jnp) -> Any:
    """``x / y``, zero where y is."""
    zero = y == 0
    return numpy.where(zero, numpy.zeros((), y.dtype), x / numpy.where(zero, numpy.ones((), y.dtype), y))


def _zero_free(function: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """``function(x, y, numpy)``, but zero where x is, whatever y is."""

    def safe(x: Any, y: Any, numpy: Any = jnp) -> Any:
        zero = x == 0
        value = function(x, numpy.where(zero, numpy.ones((), y.dtype), y), numpy)
        return numpy.where(zero, numpy.zeros((), x.dtype), value)

    return safe


xlogy = _zero_free(lambda x, y, numpy: x * numpy.log(y))
xdivy = _zero_free(lambda x, y, numpy: x / y)
xlog1py = _zero_free(lambda x, y, numpy: x * numpy.log1p(y))


def one_where_not_zero(x: Any) -> Any:
    """One where x is not zero."""
    return (x != 0).astype(x.dtype)


def choice_gradient(condition: Any, g: Any) -> tuple[Any, Any]:
    zero = jnp.zeros((), g.dtype)
    return jnp.where(condition, g, zero), jnp.where(condition, zero, g)


@jax.custom_jvp
def _power(x: Any, y: Any) -> Any:
    return jnp.power(x, y)


@_power.defjvp
def _power_tangent(primals: Any, tangents: Any) -> tuple[Any, Any]:
    z = _power(*primals)
    by_x, by_y = pow_gradient(primals, (z,), (jnp.ones((), z.dtype),))
    return z, tangents[0] * by_x + tangents[1] * by_y


def pow_gradient(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    (x, y), (z,), (g,) = inputs, outputs, cotangents
    usable = x != 0 if jnp.iscomplexobj(x) else x > 0
    log_x = jnp.where(usable, jnp.log(jnp.where(usable, x, jnp.ones((), x.dtype))), jnp.zeros((), x.dtype))
    return [g * y * _power(x, y - 1), g * z * log_x]


def atan2_gradient(g: Any, y: Any, x: Any) -> tuple[Any, Any]:
    share = g / (jnp.square(x) + jnp.square(y))
    return x * share, -y * share


def zeta_gradient(g: Any, x: Any, q: Any) -> tuple[Any, Any]:
    return None, g * (-x * zeta(x + 1, q))


def polygamma_gradient(g: Any, n: Any, x: Any) -> tuple[Any, Any]:
    return None, g * polygamma(n + 1, x)


def betainc_gradient(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The formula of the regularised incomplete beta function; it has one for its last input only."""
    a, b, x = inputs
    log_beta = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    return [None, None, cotangents[0] * jnp.exp((b - 1) * jnp.log1p(-x) + (a - 1) * jnp.log(x) - log_beta)]
