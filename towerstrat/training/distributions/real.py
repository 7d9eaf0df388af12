"""Distributions of real numbers: Normal, Laplace and StudentT."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any

import numpy as np

from towerstrat.graph.ir.default_graph import control_dependencies, name_scope
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ops import array, assertions, math, matrices, random
from towerstrat.training.distributions import special
from towerstrat.training.distributions.arguments import salted, together
from towerstrat.training.distributions.base import FULLY_REPARAMETERIZED, ScalarDistribution


class _LocationScale(ScalarDistribution):
    """``loc + scale * Z`` for a fixed distribution of Z."""

    SHAPED = ("loc", "scale")

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str, parameters: dict[str, Any]
    ):
        with name_scope(name, values=[loc, scale]) as scope:
            with control_dependencies([assertions.assert_positive(scale)] if validate_args else []):
                self._loc = array.identity(loc, name="loc")
                self._scale = array.identity(scale, name="scale")
            dtype = assertions.assert_same_float_dtype([self._loc, self._scale])
        super().__init__(
            dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, graph_parents=[self._loc, self._scale], name=scope,
        )  # fmt: skip

    @property
    def loc(self) -> Tensor:
        return self._loc

    @property
    def scale(self) -> Tensor:
        return self._scale

    def _z(self, x: Tensor) -> Tensor:
        with name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale

    def _mode(self) -> Tensor:
        return self._mean()


class Normal(_LocationScale):
    """The normal distribution: density ``exp(-z^2 / 2) / (scale sqrt(2 pi))`` with ``z = (x - loc) / scale``.

    Args:
      loc: means. scale: standard deviations, positive; floating, of shapes that broadcast.
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Normal"
    ):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random.random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        return -0.5 * math.square(self._z(x)) - (0.5 * python_math.log(2 * python_math.pi) + math.log(self.scale))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return special.log_ndtr(self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return special.ndtr(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return special.log_ndtr(-self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return special.ndtr(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return math.ndtri(p) * self.scale + self.loc

    def _entropy(self) -> Tensor:
        scale = self.scale * array.ones_like(self.loc)
        return 0.5 * python_math.log(2 * python_math.pi * python_math.e) + math.log(scale)

    def _mean(self) -> Tensor:
        return self.loc * array.ones_like(self.scale)

    def _stddev(self) -> Tensor:
        return self.scale * array.ones_like(self.loc)

    def _kl_of_kind(self, other: Normal, name: str | None = None) -> Tensor:
        with name_scope(name, "kl_normal_normal", [self.loc, other.loc]):
            variance = math.square(other.scale)
            ratio = math.square(self.scale) / variance
            return math.square(self.loc - other.loc) / (2.0 * variance) + 0.5 * (ratio - 1.0 - math.log(ratio))


class Laplace(_LocationScale):
    """The Laplace distribution: density ``exp(-|x - loc| / scale) / (2 scale)``.

    Args:
      loc: means. scale: positive; floating, of shapes that broadcast.
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Laplace"
    ):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        # Not -1 itself, of which the logarithm is infinite.
        low = np.nextafter(self.dtype.np.type(-1.0), self.dtype.np.type(0.0))
        u = random.random_uniform(self._sample_shape(n), low, 1.0, self.dtype, seed=seed)
        return self.loc - self.scale * math.sign(u) * math.log1p(-math.abs(u))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -math.abs(self._z(x)) - (python_math.log(2.0) + math.log(self.scale))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return special.log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return special.log_cdf_laplace(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * math.sign(z) * (1.0 - math.exp(-math.abs(z)))

    def _entropy(self) -> Tensor:
        return python_math.log(2.0) + 1.0 + math.log(self.scale + array.zeros_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc + array.zeros_like(self.scale)

    def _stddev(self) -> Tensor:
        return python_math.sqrt(2.0) * self.scale + array.zeros_like(self.loc)


class StudentT(ScalarDistribution):
    """Student's t-distribution: ``loc + scale * T`` for T with ``df`` degrees of freedom.

    Args:
      df: degrees of freedom, positive. loc, scale: as of T's location and scale; floating, of shapes that broadcast.
    """

    SHAPED = ("df", "loc", "scale")

    def __init__(
        self, df: Any, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "StudentT",
    ):  # fmt: skip
        parameters = dict(locals())
        with name_scope(name, values=[df, loc, scale]) as scope:
            with control_dependencies([assertions.assert_positive(df)] if validate_args else []):
                self._df = array.identity(df, name="df")
                self._loc = array.identity(loc, name="loc")
                self._scale = array.identity(scale, name="scale")
            dtype = assertions.assert_same_float_dtype([self._df, self._loc, self._scale])
        super().__init__(
            dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope,
            graph_parents=[self._df, self._loc, self._scale],
        )  # fmt: skip

    @property
    def df(self) -> Tensor:
        return self._df

    @property
    def loc(self) -> Tensor:
        return self._loc

    @property
    def scale(self) -> Tensor:
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        normal = random.random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        df = self._over_batch(self.df)
        gamma = random.random_gamma([n], 0.5 * df, 0.5, self.dtype, salted(seed, "student_t"))
        return normal * math.rsqrt(gamma / df) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / self.scale
        normalization = (
            math.log(math.abs(self.scale)) + 0.5 * math.log(self.df) + 0.5 * python_math.log(python_math.pi)
            + math.lgamma(0.5 * self.df) - math.lgamma(0.5 * (self.df + 1.0))
        )  # fmt: skip
        return -0.5 * (self.df + 1.0) * math.log1p(math.square(y) / self.df) - normalization

    def _cdf(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / math.abs(self.scale)
        y, df = together(y, self.df)
        beyond = 0.5 * math.betainc(0.5 * df, 0.5 * array.ones_like(df), df / (math.square(y) + df))
        return array.where(y < 0.0, beyond, 1.0 - beyond)

    def _entropy(self) -> Tensor:
        df = self._over_batch(self.df)
        sides = array.stack([df, array.ones_like(df)], -1) / 2.0
        half = 0.5 * (self.df + 1.0)
        return (
            math.log(math.abs(self.scale)) + 0.5 * math.log(self.df) + matrices.lbeta(sides)
            + half * (math.digamma(half) - math.digamma(0.5 * self.df))
        )  # fmt: skip

    def _mean(self) -> Tensor:
        return self._where_defined(self.df > 1.0, self._over_batch(self.loc), self._check_df("mean"))

    def _variance(self) -> Tensor:
        heavy = self.df <= 2.0
        denominator = array.where(heavy, array.ones_like(self.df), self.df - 2.0)
        variance = self._over_batch(math.square(self.scale) * self.df / denominator)
        finite = math.logical_not(math.logical_and(heavy, array.ones_like(variance, dtype=heavy.dtype)))
        infinite = array.fill(array.shape(variance), np.array(np.inf, self.dtype.np), name="inf")
        variance = array.where(finite, variance, infinite)
        return self._where_defined(self.df > 1.0, variance, self._check_df("variance"))

    def _check_df(self, what: str) -> Callable[[], Operation | None]:
        message = f"{what} not defined for components of df <= 1"
        return lambda: assertions.assert_less(array.ones([], self.dtype), self.df, message=message)

    def _mode(self) -> Tensor:
        return array.identity(self.loc)
