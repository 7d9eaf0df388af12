"""Distributions of positive numbers: Gamma and Exponential."""

from __future__ import annotations

from typing import Any

import numpy as np

from towerstrat.graph.ir.default_graph import control_dependencies, name_scope
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import assertions
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.random import stateful
from towerstrat.models.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution
from towerstrat.models.distributions.distribution_arguments import checked, together


class Gamma(ScalarDistribution):
    """The gamma distribution: density ``rate^c x^(c-1) exp(-rate x) / Gamma(c)`` for x > 0.

    Args:
      concentration: c, positive. rate: inverse scales, positive; floating, of shapes that broadcast.
    """

    SHAPED: tuple[str, ...] = ("concentration", "rate")

    def __init__(
        self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Gamma",
    ):  # fmt: skip
        parameters = dict(locals())
        with name_scope(name, values=[concentration, rate]) as scope:
            checks = [assertions.assert_positive(p) for p in (concentration, rate)] if validate_args else []
            with control_dependencies(checks):
                self._concentration = arrays.identity(concentration, name="concentration")
                self._rate = arrays.identity(rate, name="rate")
            dtype = assertions.assert_same_float_dtype([self._concentration, self._rate])
        super().__init__(
            dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope,
            graph_parents=[self._concentration, self._rate],
        )  # fmt: skip

    @property
    def concentration(self) -> Tensor:
        return self._concentration

    @property
    def rate(self) -> Tensor:
        return self._rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return stateful.random_gamma([n], self.concentration, self.rate, self.dtype, seed)

    def _positive(self, x: Tensor) -> Tensor:
        assertions.assert_same_float_dtype([x], self.dtype)
        return checked(self.validate_args, lambda: [assertions.assert_positive(x)], x)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._positive(x)
        normalization = arithmetic.lgamma(self.concentration) - self.concentration * arithmetic.log(self.rate)
        return (self.concentration - 1.0) * arithmetic.log(x) - self.rate * x - normalization

    def _cdf(self, x: Tensor) -> Tensor:
        concentration, scaled = together(self.concentration, self.rate * self._positive(x))
        return arithmetic.igamma(concentration, scaled)

    def _entropy(self) -> Tensor:
        c = self.concentration
        return c - arithmetic.log(self.rate) + arithmetic.lgamma(c) + (1.0 - c) * arithmetic.digamma(c)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / arithmetic.square(self.rate)

    def _stddev(self) -> Tensor:
        return arithmetic.sqrt(self.concentration) / self.rate

    def _mode(self) -> Tensor:
        message = "mode not defined when any concentration <= 1"
        return self._where_defined(
            self.concentration > 1.0,
            (self.concentration - 1.0) / self.rate,
            lambda: assertions.assert_less(arrays.ones([], self.dtype), self.concentration, message=message),
        )

    def _kl_of_kind(self, other: Gamma, name: str | None = None) -> Tensor:
        with name_scope(
            name, "kl_gamma_gamma", [self.concentration, self.rate, other.concentration, other.rate]
        ):  # fmt: skip
            a, b = self.concentration, other.concentration
            return (
                (a - b) * arithmetic.digamma(a) + arithmetic.lgamma(b) - arithmetic.lgamma(a)
                + b * arithmetic.log(self.rate) - b * arithmetic.log(other.rate) + a * (other.rate / self.rate - 1.0)
            )  # fmt: skip


class Exponential(Gamma):
    """The exponential distribution: density ``rate exp(-rate x)`` for x > 0.

    Args:
      rate: inverse means, positive, floating.
    """

    SHAPED = ("rate",)

    def __init__(self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"):
        parameters = dict(locals())
        with name_scope(name, values=[rate]) as scope:
            rate = convert_to_tensor(rate, name="rate")
        super().__init__(arrays.ones([], dtype=rate.dtype), rate, validate_args, allow_nan_stats, scope)
        self._parameters = parameters

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = np.finfo(self.dtype.np).tiny
        u = stateful.random_uniform(self._sample_shape(n), tiny, 1.0, self.dtype, seed=seed)
        return -arithmetic.log(u) / self.rate

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return self._log_prob(x) - arithmetic.log(self.rate)
