"""Distributions of vectors: Dirichlet, Multinomial and DirichletMultinomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import assertions
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.linalg import decompositions
from towerstrat.graph.ops.linalg import products as linalg
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import activations
from towerstrat.graph.ops.random import stateful
from towerstrat.models.distributions.discrete import logits_and_probs, with_classes
from towerstrat.models.distributions.distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution
from towerstrat.models.distributions.distribution_arguments import checked, salted


class _VectorDistribution(Distribution):
    """Events are the last dimension of a parameter, the batch shape is what is before it."""

    _whole: Tensor

    def _batch_shape_tensor(self) -> Tensor:
        return arrays.shape(self._whole)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self._whole.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return arrays.shape(self._whole)[-1:]

    def _event_shape(self) -> TensorShape:
        return self._whole.shape.with_rank_at_least(1)[-1:]

    def _with_variances(self, x: Tensor, y: Tensor) -> Tensor:
        """Covariances ``-x_i y_j``, with the variances on the diagonal."""
        products = linalg.matmul(arrays.expand_dims(x, -1), arrays.expand_dims(y, -2))
        return decompositions.matrix_set_diag(-products, self._variance())

    def _counts(self, draws: Tensor, per_event: Tensor, n: Any) -> Tensor:
        """Counts of classes ``[n, *batch_shape, classes]``; of draws ``[members, n * most]`` only the first count."""
        classes = self.event_shape_tensor()[0]
        members = arrays.size(per_event)
        most = reductions.reduce_max(per_event)
        drawn = arrays.reshape(draws, arrays.stack([members, n, most]))
        used = arrays.reshape(
            gather_scatter.sequence_mask(per_event, most, self.dtype), arrays.stack([members, 1, most, 1])
        )
        counts = reductions.reduce_sum(gather_scatter.one_hot(drawn, classes, dtype=self.dtype) * used, 2)
        shape = arrays.concat([[n], self.batch_shape_tensor(), [classes]], 0)
        return arrays.reshape(arrays.transpose(counts, [1, 0, 2]), shape)


def _log_combinations(total: Tensor, counts: Tensor) -> Tensor:
    """``log(total! / prod(counts!))``."""
    return arithmetic.lgamma(total + 1.0) - reductions.reduce_sum(arithmetic.lgamma(counts + 1.0), -1)


def _nonnegative_whole(x: Tensor) -> list[Operation | None]:
    whole = [assertions.assert_equal(x, arithmetic.floor(x), message="counts cannot contain fractional components.")]
    return [assertions.assert_non_negative(x, message="counts must be non-negative."), *whole]


def _add_up(counts: Tensor, total: Tensor, message: str) -> list[Operation | None]:
    sums = assertions.assert_equal(total, reductions.reduce_sum(counts, -1), message=message)
    return [*_nonnegative_whole(counts), sums]


class Dirichlet(_VectorDistribution):
    """The Dirichlet distribution: density ``prod(x_i^(c_i - 1)) / B(c)`` for positive x that add up to 1.

    Args:
      concentration: c, positive, floating, ``[*batch_shape, k]``.
    """

    def __init__(
        self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Dirichlet"
    ):
        parameters = dict(locals())
        with name_scope(name, values=[concentration]) as scope:
            whole = convert_to_tensor(concentration, name="concentration")
            self._whole = checked(validate_args, lambda: self._valid_concentration(whole), whole)
            self._total_concentration = reductions.reduce_sum(self._whole, -1)
        super().__init__(
            dtype=self._whole.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope,
            graph_parents=[self._whole, self._total_concentration],
        )  # fmt: skip

    @staticmethod
    def _valid_concentration(x: Tensor) -> Sequence[Operation | None]:
        return [
            assertions.assert_positive(x, message="Concentration parameter must be positive."),
            assertions.assert_rank_at_least(x, 1, message="Concentration parameter must have >=1 dimensions."),
            assertions.assert_less(
                1, arrays.shape(x)[-1], message="Concentration parameter must have event_size >= 2."
            ),
        ]  # fmt: skip

    @property
    def concentration(self) -> Tensor:
        return self._whole

    @property
    def total_concentration(self) -> Tensor:
        """The sums of concentrations, of the batch shape."""
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        gamma = stateful.random_gamma([n], self.concentration, None, self.dtype, seed)
        return gamma / reductions.reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = checked(
            self.validate_args,
            lambda: [
                assertions.assert_positive(x, message="samples must be positive"),
                assertions.assert_near(
                    arrays.ones([], self.dtype),
                    reductions.reduce_sum(x, -1),
                    message="sample last-dimension must sum to `1`",
                ),
            ],
            x,
        )
        return reductions.reduce_sum((self.concentration - 1.0) * arithmetic.log(x), -1) - decompositions.lbeta(
            self.concentration
        )

    def _classes(self) -> Tensor:
        return arithmetic.cast(self.event_shape_tensor()[0], self.dtype)

    def _entropy(self) -> Tensor:
        of_each = (self.concentration - 1.0) * arithmetic.digamma(self.concentration)
        of_all = (self.total_concentration - self._classes()) * arithmetic.digamma(self.total_concentration)
        return decompositions.lbeta(self.concentration) + of_all - reductions.reduce_sum(of_each, -1)

    def _mean(self) -> Tensor:
        return self.concentration / arrays.expand_dims(self.total_concentration, -1)

    def _spread(self) -> Tensor:
        return arithmetic.rsqrt(1.0 + arrays.expand_dims(self.total_concentration, -1))

    def _variance(self) -> Tensor:
        x = self._spread() * self._mean()
        return x * (self._spread() - x)

    def _covariance(self) -> Tensor:
        x = self._spread() * self._mean()
        return self._with_variances(x, x)

    def _mode(self) -> Tensor:
        message = "Mode undefined when any concentration <= 1"
        return self._where_defined(
            reductions.reduce_all(self.concentration > 1.0, -1, keepdims=True),
            (self.concentration - 1.0) / (arrays.expand_dims(self.total_concentration, -1) - self._classes()),
            lambda: assertions.assert_less(arrays.ones([], self.dtype), self.concentration, message=message),
        )

    def _kl_of_kind(self, other: Dirichlet, name: str | None = None) -> Tensor:
        a, b = self.concentration, other.concentration
        with name_scope(name, "kl_dirichlet_dirichlet", [a, b]):
            expected = arithmetic.digamma(a) - arithmetic.digamma(reductions.reduce_sum(a, -1, keepdims=True))
            return reductions.reduce_sum((a - b) * expected, -1) - decompositions.lbeta(a) + decompositions.lbeta(b)


class Multinomial(_VectorDistribution):
    """How often each class comes up in ``total_count`` draws with the probabilities ``probs = softmax(logits)``.

    Args:
      total_count: numbers of draws, floating, ``[*batch_shape]`` or of a shape that broadcasts to it.
      logits, probs: one of them, floating, ``[*batch_shape, classes]``.
    """

    def __init__(
        self, total_count: Any, logits: Any = None, probs: Any = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Multinomial",
    ):  # fmt: skip
        parameters = dict(locals())
        with name_scope(name, values=[total_count, logits, probs]) as scope:
            total = convert_to_tensor(total_count, name="total_count")
            self._total_count = checked(validate_args, lambda: _nonnegative_whole(total), total)
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args, scope)
            self._whole = arrays.expand_dims(self._total_count, -1) * self._probs
        super().__init__(
            dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope,
            graph_parents=[self._total_count, self._logits, self._probs],
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        return self._total_count

    @property
    def logits(self) -> Tensor:
        return self._logits

    @property
    def probs(self) -> Tensor:
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        per_event = arrays.reshape(
            arithmetic.cast(self.total_count * arrays.ones_like(self._whole[..., 0]), int32), [-1]
        )  # fmt: skip
        logits = arrays.reshape(
            self.logits * arrays.ones_like(self._whole), arrays.concat([[-1], self.event_shape_tensor()], 0)
        )  # fmt: skip
        draws = stateful.multinomial(logits, n * reductions.reduce_max(per_event), seed=seed)
        return self._counts(draws, per_event, n)

    def _log_prob(self, counts: Tensor) -> Tensor:
        message = "counts must sum to `self.total_count`"
        counts = checked(self.validate_args, lambda: _add_up(counts, self.total_count, message), counts)
        likelihood = reductions.reduce_sum(counts * activations.log_softmax(self.logits), -1)
        return likelihood + _log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        return arrays.identity(self._whole)

    def _spread_probs(self) -> Tensor:
        return self.probs * arrays.expand_dims(arrays.ones_like(self.total_count), -1)

    def _variance(self) -> Tensor:
        return self._whole - self._whole * self._spread_probs()

    def _covariance(self) -> Tensor:
        return self._with_variances(self._whole, self._spread_probs())


class DirichletMultinomial(_VectorDistribution):
    """Counts of ``total_count`` draws of classes whose probabilities are themselves a draw of a Dirichlet distribution.

    Args:
      total_count: numbers of draws, floating, ``[*batch_shape]`` or of a shape that broadcasts to it.
      concentration: positive, floating, ``[*batch_shape, classes]``.
    """

    def __init__(
        self, total_count: Any, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ):  # fmt: skip
        parameters = dict(locals())
        message = "Concentration parameter must be positive."
        with name_scope(name, values=[total_count, concentration]) as scope:
            total = convert_to_tensor(total_count, name="total_count")
            self._total_count = checked(validate_args, lambda: _nonnegative_whole(total), total)
            whole = with_classes(convert_to_tensor(concentration, name="concentration"), validate_args)
            self._whole = checked(
                validate_args, lambda: [assertions.assert_positive(whole, message=message)], whole
            )  # fmt: skip
            self._total_concentration = reductions.reduce_sum(self._whole, -1)
        super().__init__(
            dtype=self._whole.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, name=scope,
            graph_parents=[self._total_count, self._whole],
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        return self._total_count

    @property
    def concentration(self) -> Tensor:
        return self._whole

    @property
    def total_concentration(self) -> Tensor:
        """The sums of concentrations, of the batch shape."""
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        count = arithmetic.cast(self.total_count, int32)
        shape = arrays.concat([[-1], self.event_shape_tensor()], 0)
        logits = arrays.reshape(
            arithmetic.log(stateful.random_gamma([n], self.concentration, None, self.dtype, seed)), shape
        )
        draws = stateful.multinomial(logits, count, seed=salted(seed, "dirichlet_multinomial"))
        counts = reductions.reduce_sum(
            gather_scatter.one_hot(draws, self.event_shape_tensor()[0], dtype=self.dtype), -2
        )
        return arrays.reshape(counts, arrays.concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0))

    def _log_prob(self, counts: Tensor) -> Tensor:
        message = "counts last-dimension must sum to `self.total_count`"
        counts = checked(self.validate_args, lambda: _add_up(counts, self.total_count, message), counts)
        ordered = decompositions.lbeta(self.concentration + counts) - decompositions.lbeta(self.concentration)
        return ordered + _log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        share = self.concentration / arrays.expand_dims(self.total_concentration, -1)
        return arrays.expand_dims(self.total_count, -1) * share

    def _spread(self) -> Tensor:
        total = arrays.expand_dims(self.total_concentration, -1)
        return arithmetic.sqrt((1.0 + total / arrays.expand_dims(self.total_count, -1)) / (1.0 + total))

    def _variance(self) -> Tensor:
        x = self._spread() * self._mean()
        return x * (arrays.expand_dims(self.total_count, -1) * self._spread() - x)

    def _covariance(self) -> Tensor:
        x = self._spread() * self._mean()
        return self._with_variances(x, x)
