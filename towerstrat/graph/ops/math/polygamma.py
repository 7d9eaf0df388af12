"""Zeta, digamma and polygamma functions with the originals' values at poles and at infinity.

Source: Cephes' ``zeta.c`` and ``psi.c`` (Moshier), as Eigen has them.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.numerics_version import ORIGINAL
from towerstrat.platform.deferred import jax_special


@jax.custom_jvp
def zeta(x: Any, q: Any) -> Any:
    """Hurwitz' zeta function, sum over k of (k + q)**-x; NaN below x = 1."""
    x, q = jnp.broadcast_arrays(x, q)
    inf, nan = np.asarray(np.inf, x.dtype), np.asarray(np.nan, x.dtype)
    whole = x == jnp.floor(x)
    nothing = np.asarray(0, x.dtype) if ORIGINAL.later else nan  # the sum where its first term is zero already
    at_infinity = jnp.where(q > 1, nothing, jnp.where(q == 1, np.asarray(1, x.dtype), inf + q * 0))
    result = jnp.where(x == np.inf, at_infinity, jnp.where(q == np.inf, nothing, jax_special.zeta(x, q)))
    result = jnp.where((q <= 0) & ~whole, nan, result)
    pole = jnp.where((x == np.inf) | (jnp.mod(x, 2) == 0), inf, nan) if ORIGINAL.later else inf
    result = jnp.where((q <= 0) & (q == jnp.floor(q)), pole, result)
    return jnp.where(x == 1, inf, jnp.where(x < 1, nan, result))


@zeta.defjvp
def _zeta_tangent(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, q = primals
    return zeta(x, q), tangents[1] * (-x * zeta(x + 1, q))


@jax.custom_jvp
def digamma(x: Any) -> Any:
    """The logarithmic derivative of the gamma function; at its poles infinite in 1.x, NaN in 2.x."""
    pole = (x <= 0) & (x == jnp.floor(x))
    at_poles = np.asarray(np.nan if ORIGINAL.later else np.inf, x.dtype)
    return jnp.where(pole, at_poles, lax.digamma(jnp.where(pole, np.asarray(1, x.dtype), x)))


@digamma.defjvp
def _digamma_tangent(primals: Any, tangents: Any) -> tuple[Any, Any]:
    return digamma(primals[0]), tangents[0] * polygamma(np.asarray(1, primals[0].dtype), primals[0])


@jax.custom_jvp
def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order ``n`` of digamma, (-1)**(n + 1) n! zeta(n + 1, x); NaN where n is no whole number."""
    n, x = jnp.broadcast_arrays(n, x)
    sign = jnp.where(jnp.mod(n, 2) == 0, np.asarray(-1, x.dtype), np.asarray(1, x.dtype))
    result = sign * jnp.exp(lax.lgamma(n + 1)) * zeta(n + 1, x)
    result = jnp.where(n == jnp.floor(n), result, np.asarray(np.nan, x.dtype))
    return jnp.where(n == 0, digamma(x), result)


@polygamma.defjvp
def _polygamma_tangent(primals: Any, tangents: Any) -> tuple[Any, Any]:
    n, x = primals
    return polygamma(n, x), tangents[1] * polygamma(n + 1, x)
