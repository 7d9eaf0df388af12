"""Distributions on an interval: Uniform and Beta."""

from __future__ import annotations

import math as python_math
from typing import Any

from towerstrat.graph.ir.default_graph import control_dependencies, name_scope
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import assertions, branches
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.random import stateful
from towerstrat.models.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution
from towerstrat.models.distributions.distribution_arguments import checked, salted, together


class Uniform(ScalarDistribution):
    """The uniform distribution on ``[low, high)``.

    Args:
      low, high: the ends; floating, of shapes that broadcast.
    """

    SHAPED = ("low", "high")

    def __init__(
        self, low: Any = 0.0, high: Any = 1.0, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Uniform",
    ):  # fmt: skip
        parameters = dict(locals())
        message = "uniform not defined when low >= high."
        with name_scope(name, values=[low, high]) as scope:
            checks = [assertions.assert_less(low, high, message=message)] if validate_args else []
            with control_dependencies(checks):
                self._low = arrays.identity(low, name="low")
                self._high = arrays.identity(high, name="high")
            dtype = assertions.assert_same_float_dtype([self._low, self._high])
        super().__init__(
            dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, graph_parents=[self._low, self._high], name=scope,
        )  # fmt: skip

    @property
    def low(self) -> Tensor:
        return self._low

    @property
    def high(self) -> Tensor:
        return self._high

    def range(self, name: str = "range") -> Tensor:
        """``high - low``."""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self.low + self.range() * stateful.random_uniform(self._sample_shape(n), dtype=self.dtype, seed=seed)

    def _prob(self, x: Tensor) -> Tensor:
        x, low, high = together(x, self.low, self.high)
        inside = arithmetic.logical_and(x >= low, x < high)
        density = arrays.where(inside, 1.0 / (high - low), arrays.zeros_like(x))
        return arrays.where(arithmetic.is_nan(x), x, density)

    def _cdf(self, x: Tensor) -> Tensor:
        x, low, high = together(x, self.low, self.high)
        share = arrays.where(x < low, arrays.zeros_like(x), (x - low) / (high - low))
        return arrays.where(x >= high, arrays.ones_like(x), share)

    def _entropy(self) -> Tensor:
        return arithmetic.log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return arithmetic.square(self.range()) / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / python_math.sqrt(12.0)


class Beta(ScalarDistribution):
    """The beta distribution: density ``x^(a-1) (1-x)^(b-1) / B(a, b)`` for x in (0, 1).

    Args:
      concentration1, concentration0: a and b, positive; floating, of shapes that broadcast.
    """

    SHAPED = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any = None, concentration0: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Beta",
    ):  # fmt: skip
        parameters = dict(locals())
        message = "Concentration parameter must be positive."
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            given = {"concentration1": concentration1, "concentration0": concentration0}
            parts = [convert_to_tensor(value, name=which) for which, value in given.items()]
            with control_dependencies([assertions.assert_positive(p, message=message) for p in parts if validate_args]):
                parts = [arrays.identity(p) for p in parts] if validate_args else parts
            dtype = assertions.assert_same_float_dtype(parts)
            self._concentration1, self._concentration0 = parts
            self._total_concentration = parts[0] + parts[1]
        super().__init__(
            dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope,
            graph_parents=[*parts, self._total_concentration],
        )  # fmt: skip

    @property
    def concentration1(self) -> Tensor:
        return self._concentration1

    @property
    def concentration0(self) -> Tensor:
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        one = stateful.random_gamma([n], self._over_batch(self.concentration1), None, self.dtype, seed)
        zero = stateful.random_gamma([n], self._over_batch(self.concentration0), None, self.dtype, salted(seed, "beta"))
        return one / (one + zero)

    def _log_normalization(self) -> Tensor:
        return (
            arithmetic.lgamma(self.concentration1)
            + arithmetic.lgamma(self.concentration0)
            - arithmetic.lgamma(self.total_concentration)
        )

    def _log_prob(self, x: Tensor) -> Tensor:
        x = checked(
            self.validate_args,
            lambda: [
                assertions.assert_positive(x, message="sample must be positive"),
                assertions.assert_less(x, arrays.ones([], self.dtype), message="sample must be less than `1`."),
            ],
            x,
        )
        powers = (self.concentration1 - 1.0) * arithmetic.log(x) + (self.concentration0 - 1.0) * arithmetic.log1p(-x)
        return powers - self._log_normalization()

    def _cdf(self, x: Tensor) -> Tensor:
        a, b, x = together(self.concentration1, self.concentration0, x)
        return arithmetic.betainc(a, b, x)

    def _entropy(self) -> Tensor:
        return (
            self._log_normalization()
            - (self.concentration1 - 1.0) * arithmetic.digamma(self.concentration1)
            - (self.concentration0 - 1.0) * arithmetic.digamma(self.concentration0)
            + (self.total_concentration - 2.0) * arithmetic.digamma(self.total_concentration)
        )

    def _mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> Tensor:
        one = arrays.ones([], self.dtype)

        def check() -> Operation:
            parts = {"concentration1": self.concentration1, "concentration0": self.concentration0}
            return branches.group(
                *(
                    assertions.assert_less(one, part, message=f"Mode undefined for {name} <= 1.")
                    for name, part in parts.items()
                )
            )

        return self._where_defined(
            arithmetic.logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0),
            (self.concentration1 - 1.0) / (self.total_concentration - 2.0),
            check,
        )

    def _kl_of_kind(self, other: Beta, name: str | None = None) -> Tensor:
        values = [self.concentration1, self.concentration0, self.total_concentration]
        with name_scope(name, "kl_beta_beta", values):
            others = [other.concentration1, other.concentration0, other.total_concentration]
            signs = (-1.0, -1.0, 1.0)
            differences = [
                sign * (theirs - mine) * arithmetic.digamma(mine)
                for sign, mine, theirs in zip(signs, values, others, strict=True)
            ]
            return other._log_normalization() - self._log_normalization() + sum(differences[1:], differences[0])
