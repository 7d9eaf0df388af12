"""Distributions of vectors: Dirichlet, Multinomial and DirichletMultinomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops import (
    activations,
    array,
    assertions,
    indexing,
    linalg,
    math,
    matrices,
    random,
    reductions,
)
from towerstrat.training.distributions.arguments import checked, salted
from towerstrat.training.distributions.base import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution
from towerstrat.training.distributions.discrete import logits_and_probs, with_classes


class _VectorDistribution(Distribution):
    """Events are the last dimension of a parameter, the batch shape is what is before it."""

    _whole: Tensor

    def _batch_shape_tensor(self) -> Tensor:
        return array.shape(self._whole)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self._whole.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return array.shape(self._whole)[-1:]

    def _event_shape(self) -> TensorShape:
        return self._whole.shape.with_rank_at_least(1)[-1:]

    def _with_variances(self, x: Tensor, y: Tensor) -> Tensor:
        """Covariances ``-x_i y_j``, with the variances on the diagonal."""
        products = linalg.matmul(array.expand_dims(x, -1), array.expand_dims(y, -2))
        return matrices.matrix_set_diag(-products, self._variance())

    def _counts(self, draws: Tensor, per_event: Tensor, n: Any) -> Tensor:
        """Counts of classes ``[n, *batch_shape, classes]``; of draws ``[members, n * most]`` only the first count."""
        classes = self.event_shape_tensor()[0]
        members = array.size(per_event)
        most = reductions.reduce_max(per_event)
        drawn = array.reshape(draws, array.stack([members, n, most]))
        used = array.reshape(indexing.sequence_mask(per_event, most, self.dtype), array.stack([members, 1, most, 1]))
        counts = reductions.reduce_sum(indexing.one_hot(drawn, classes, dtype=self.dtype) * used, 2)
        shape = array.concat([[n], self.batch_shape_tensor(), [classes]], 0)
        return array.reshape(array.transpose(counts, [1, 0, 2]), shape)


def _log_combinations(total: Tensor, counts: Tensor) -> Tensor:
    """``log(total! / prod(counts!))``."""
    return math.lgamma(total + 1.0) - reductions.reduce_sum(math.lgamma(counts + 1.0), -1)


def _nonnegative_whole(x: Tensor) -> list[Operation | None]:
    whole = [assertions.assert_equal(x, math.floor(x), message="counts cannot contain fractional components.")]
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
                1, array.shape(x)[-1], message="Concentration parameter must have event_size >= 2."
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
        gamma = random.random_gamma([n], self.concentration, None, self.dtype, seed)
        return gamma / reductions.reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = checked(
            self.validate_args,
            lambda: [
                assertions.assert_positive(x, message="samples must be positive"),
                assertions.assert_near(
                    array.ones([], self.dtype),
                    reductions.reduce_sum(x, -1),
                    message="sample last-dimension must sum to `1`",
                ),
            ],
            x,
        )
        return reductions.reduce_sum((self.concentration - 1.0) * math.log(x), -1) - matrices.lbeta(self.concentration)

    def _classes(self) -> Tensor:
        return math.cast(self.event_shape_tensor()[0], self.dtype)

    def _entropy(self) -> Tensor:
        of_each = (self.concentration - 1.0) * math.digamma(self.concentration)
        of_all = (self.total_concentration - self._classes()) * math.digamma(self.total_concentration)
        return matrices.lbeta(self.concentration) + of_all - reductions.reduce_sum(of_each, -1)

    def _mean(self) -> Tensor:
        return self.concentration / array.expand_dims(self.total_concentration, -1)

    def _spread(self) -> Tensor:
        return math.rsqrt(1.0 + array.expand_dims(self.total_concentration, -1))

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
            (self.concentration - 1.0) / (array.expand_dims(self.total_concentration, -1) - self._classes()),
            lambda: assertions.assert_less(array.ones([], self.dtype), self.concentration, message=message),
        )

    def _kl_of_kind(self, other: Dirichlet, name: str | None = None) -> Tensor:
        a, b = self.concentration, other.concentration
        with name_scope(name, "kl_dirichlet_dirichlet", [a, b]):
            expected = math.digamma(a) - math.digamma(reductions.reduce_sum(a, -1, keepdims=True))
            return reductions.reduce_sum((a - b) * expected, -1) - matrices.lbeta(a) + matrices.lbeta(b)


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
            self._whole = array.expand_dims(self._total_count, -1) * self._probs
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
        per_event = array.reshape(
            math.cast(self.total_count * array.ones_like(self._whole[..., 0]), int32), [-1]
        )  # fmt: skip
        logits = array.reshape(
            self.logits * array.ones_like(self._whole), array.concat([[-1], self.event_shape_tensor()], 0)
        )  # fmt: skip
        draws = random.multinomial(logits, n * reductions.reduce_max(per_event), seed=seed)
        return self._counts(draws, per_event, n)

    def _log_prob(self, counts: Tensor) -> Tensor:
        message = "counts must sum to `self.total_count`"
        counts = checked(self.validate_args, lambda: _add_up(counts, self.total_count, message), counts)
        likelihood = reductions.reduce_sum(counts * activations.log_softmax(self.logits), -1)
        return likelihood + _log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        return array.identity(self._whole)

    def _spread_probs(self) -> Tensor:
        return self.probs * array.expand_dims(array.ones_like(self.total_count), -1)

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
        count = math.cast(self.total_count, int32)
        shape = array.concat([[-1], self.event_shape_tensor()], 0)
        logits = array.reshape(math.log(random.random_gamma([n], self.concentration, None, self.dtype, seed)), shape)
        draws = random.multinomial(logits, count, seed=salted(seed, "dirichlet_multinomial"))
        counts = reductions.reduce_sum(indexing.one_hot(draws, self.event_shape_tensor()[0], dtype=self.dtype), -2)
        return array.reshape(counts, array.concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0))

    def _log_prob(self, counts: Tensor) -> Tensor:
        message = "counts last-dimension must sum to `self.total_count`"
        counts = checked(self.validate_args, lambda: _add_up(counts, self.total_count, message), counts)
        ordered = matrices.lbeta(self.concentration + counts) - matrices.lbeta(self.concentration)
        return ordered + _log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        share = self.concentration / array.expand_dims(self.total_concentration, -1)
        return array.expand_dims(self.total_count, -1) * share

    def _spread(self) -> Tensor:
        total = array.expand_dims(self.total_concentration, -1)
        return math.sqrt((1.0 + total / array.expand_dims(self.total_count, -1)) / (1.0 + total))

    def _variance(self) -> Tensor:
        x = self._spread() * self._mean()
        return x * (array.expand_dims(self.total_count, -1) * self._spread() - x)

    def _covariance(self) -> Tensor:
        x = self._spread() * self._mean()
        return self._with_variances(x, x)
