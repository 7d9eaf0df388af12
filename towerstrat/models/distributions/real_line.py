"""Distributions of real numbers: Normal, Laplace and StudentT."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any

import numpy as np

from towerstrat.graph.ir.default_graph import control_dependencies, name_scope
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import assertions
from towerstrat.graph.ops.linalg import decompositions
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.random import stateful
from towerstrat.models.distributions import special_functions
from towerstrat.models.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution
from towerstrat.models.distributions.distribution_arguments import salted, together


class _LocationScale(ScalarDistribution):
    """``loc + scale * Z`` for a fixed distribution of Z."""

    SHAPED = ("loc", "scale")

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str, parameters: dict[str, Any]
    ):
        with name_scope(name, values=[loc, scale]) as scope:
            with control_dependencies([assertions.assert_positive(scale)] if validate_args else []):
                self._loc = arrays.identity(loc, name="loc")
                self._scale = arrays.identity(scale, name="scale")
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
        return stateful.random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        return -0.5 * arithmetic.square(self._z(x)) - (
            0.5 * python_math.log(2 * python_math.pi) + arithmetic.log(self.scale)
        )

    def _log_cdf(self, x: Tensor) -> Tensor:
        return special_functions.log_ndtr(self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return special_functions.ndtr(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return special_functions.log_ndtr(-self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return special_functions.ndtr(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return arithmetic.ndtri(p) * self.scale + self.loc

    def _entropy(self) -> Tensor:
        scale = self.scale * arrays.ones_like(self.loc)
        return 0.5 * python_math.log(2 * python_math.pi * python_math.e) + arithmetic.log(scale)

    def _mean(self) -> Tensor:
        return self.loc * arrays.ones_like(self.scale)

    def _stddev(self) -> Tensor:
        return self.scale * arrays.ones_like(self.loc)

    def _kl_of_kind(self, other: Normal, name: str | None = None) -> Tensor:
        with name_scope(name, "kl_normal_normal", [self.loc, other.loc]):
            variance = arithmetic.square(other.scale)
            ratio = arithmetic.square(self.scale) / variance
            return arithmetic.square(self.loc - other.loc) / (2.0 * variance) + 0.5 * (
                ratio - 1.0 - arithmetic.log(ratio)
            )


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
        u = stateful.random_uniform(self._sample_shape(n), low, 1.0, self.dtype, seed=seed)
        return self.loc - self.scale * arithmetic.sign(u) * arithmetic.log1p(-arithmetic.abs(u))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -arithmetic.abs(self._z(x)) - (python_math.log(2.0) + arithmetic.log(self.scale))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return special_functions.log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return special_functions.log_cdf_laplace(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * arithmetic.sign(z) * (1.0 - arithmetic.exp(-arithmetic.abs(z)))

    def _entropy(self) -> Tensor:
        return python_math.log(2.0) + 1.0 + arithmetic.log(self.scale + arrays.zeros_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc + arrays.zeros_like(self.scale)

    def _stddev(self) -> Tensor:
        return python_math.sqrt(2.0) * self.scale + arrays.zeros_like(self.loc)


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
                self._df = arrays.identity(df, name="df")
                self._loc = arrays.identity(loc, name="loc")
                self._scale = arrays.identity(scale, name="scale")
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
        normal = stateful.random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        df = self._over_batch(self.df)
        gamma = stateful.random_gamma([n], 0.5 * df, 0.5, self.dtype, salted(seed, "student_t"))
        return normal * arithmetic.rsqrt(gamma / df) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / self.scale
        normalization = (
            arithmetic.log(arithmetic.abs(self.scale)) + 0.5 * arithmetic.log(self.df)
            + 0.5 * python_math.log(python_math.pi)
            + arithmetic.lgamma(0.5 * self.df) - arithmetic.lgamma(0.5 * (self.df + 1.0))
        )  # fmt: skip
        return -0.5 * (self.df + 1.0) * arithmetic.log1p(arithmetic.square(y) / self.df) - normalization

    def _cdf(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / arithmetic.abs(self.scale)
        y, df = together(y, self.df)
        beyond = 0.5 * arithmetic.betainc(0.5 * df, 0.5 * arrays.ones_like(df), df / (arithmetic.square(y) + df))
        return arrays.where(y < 0.0, beyond, 1.0 - beyond)

    def _entropy(self) -> Tensor:
        df = self._over_batch(self.df)
        sides = arrays.stack([df, arrays.ones_like(df)], -1) / 2.0
        half = 0.5 * (self.df + 1.0)
        return (
            arithmetic.log(arithmetic.abs(self.scale)) + 0.5 * arithmetic.log(self.df) + decompositions.lbeta(sides)
            + half * (arithmetic.digamma(half) - arithmetic.digamma(0.5 * self.df))
        )  # fmt: skip

    def _mean(self) -> Tensor:
        return self._where_defined(self.df > 1.0, self._over_batch(self.loc), self._check_df("mean"))

    def _variance(self) -> Tensor:
        heavy = self.df <= 2.0
        denominator = arrays.where(heavy, arrays.ones_like(self.df), self.df - 2.0)
        variance = self._over_batch(arithmetic.square(self.scale) * self.df / denominator)
        finite = arithmetic.logical_not(arithmetic.logical_and(heavy, arrays.ones_like(variance, dtype=heavy.dtype)))
        infinite = arrays.fill(arrays.shape(variance), np.array(np.inf, self.dtype.np), name="inf")
        variance = arrays.where(finite, variance, infinite)
        return self._where_defined(self.df > 1.0, variance, self._check_df("variance"))

    def _check_df(self, what: str) -> Callable[[], Operation | None]:
        message = f"{what} not defined for components of df <= 1"
        return lambda: assertions.assert_less(arrays.ones([], self.dtype), self.df, message=message)

    def _mode(self) -> Tensor:
        return arrays.identity(self.loc)
