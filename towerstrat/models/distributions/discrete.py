"""Distributions of integers: Bernoulli and Categorical."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DTypeLike, as_dtype, int32, int64
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import assertions
from towerstrat.graph.ops.indexing import gather_scatter
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import activations, cross_entropy
from towerstrat.graph.ops.random import stateful
from towerstrat.models.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution
from towerstrat.models.distributions.distribution_arguments import checked


def logits_and_probs(
    logits: Any, probs: Any, classes: bool, validate_args: bool, name: str
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Both forms of the parameter that has one of them.

    Args:
      classes: the last dimension is that of classes, whose probabilities add up to 1; else each entry is for itself.

    Raises:
      ValueError: none is given, or both, or fewer than two classes with ``validate_args``.
      TypeError: the one that is given is not floating.
    """
    with name_scope(name, values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        form = "logits" if probs is None else "probs"
        value = convert_to_tensor(logits if probs is None else probs, name=form)
        if not value.dtype.is_floating:
            raise TypeError(f"{form} must having floating type.")
        if classes:
            value = with_classes(value, validate_args)
        if probs is None:
            return value, (activations.softmax if classes else arithmetic.sigmoid)(value, name="probs")
        value = checked(validate_args, lambda: _are_probabilities(value, classes), value)
        with name_scope("logits"):
            return (arithmetic.log(value) if classes else arithmetic.log(value) - arithmetic.log1p(-1.0 * value)), value


def _are_probabilities(probs: Tensor, classes: bool) -> list[Operation | None]:
    if classes:
        total = reductions.reduce_sum(probs, -1)
        sums = assertions.assert_near(total, arrays.ones_like(total), message="probs does not sum to 1.")
    else:
        message = "probs has components greater than 1."
        sums = assertions.assert_less_equal(probs, arrays.ones([], probs.dtype), message=message)
    return [assertions.assert_non_negative(probs), sums]


def with_classes(parameter: Tensor, validate_args: bool) -> Tensor:
    """``parameter``, whose last dimension must be at least two classes where arguments are validated.

    Raises:
      ValueError: it is a scalar, or known to have fewer.
    """
    if not validate_args or parameter.dims is None:
        return parameter
    if not parameter.dims:
        raise ValueError("A categorical-distribution parameter must have at least 1 dimension.")
    message = "A categorical-distribution parameter must have at least 2 events."
    size = parameter.dims[-1]
    if size is not None and size < 2:
        raise ValueError(message)
    enough = lambda: [assertions.assert_greater_equal(arrays.shape(parameter)[-1], 2, message=message)]  # noqa: E731
    return checked(size is None, enough, parameter)


class Bernoulli(ScalarDistribution):
    """1 with the probability ``probs = sigmoid(logits)``, else 0.

    Args:
      logits, probs: one of them, floating. dtype: of samples.
    """

    SHAPED = ("logits",)

    def __init__(
        self, logits: Any = None, probs: Any = None, dtype: DTypeLike = int32, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Bernoulli",
    ):  # fmt: skip
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args, scope)
        super().__init__(
            dtype=as_dtype(dtype), reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, graph_parents=[self._logits, self._probs],
            name=scope,
        )  # fmt: skip

    @property
    def logits(self) -> Tensor:
        return self._logits

    @property
    def probs(self) -> Tensor:
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        u = stateful.random_uniform(self._sample_shape(n), dtype=self.probs.dtype, seed=seed)
        return arithmetic.cast(arithmetic.less(u, self.probs), self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        if not x.dtype.is_bool:
            whole = lambda: [assertions.assert_less_equal(arithmetic.square(x), x, message="Elements must be 0 or 1.")]  # noqa: E731
            x = checked(self.validate_args, whole, x)
        x = arithmetic.cast(x, self.logits.dtype)
        logits = self.logits * arrays.ones_like(x)
        return -cross_entropy.sigmoid_cross_entropy_with_logits(labels=x * arrays.ones_like(logits), logits=logits)

    def _entropy(self) -> Tensor:
        return -self.logits * (arithmetic.sigmoid(self.logits) - 1.0) + activations.softplus(-self.logits)

    def _mean(self) -> Tensor:
        return arrays.identity(self.probs)

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return arithmetic.cast(self.probs > 0.5, self.dtype)

    def _kl_of_kind(self, other: Bernoulli, name: str | None = None) -> Tensor:
        a, b = self.logits, other.logits
        with name_scope(name, "kl_bernoulli_bernoulli", [a, b]):
            of_one = activations.softplus(-b) - activations.softplus(-a)
            of_zero = activations.softplus(b) - activations.softplus(a)
            return arithmetic.sigmoid(a) * of_one + arithmetic.sigmoid(-a) * of_zero


class Categorical(ScalarDistribution):
    """A class of ``[0, classes)`` with the probabilities ``probs = softmax(logits)``.

    Args:
      logits, probs: one of them, floating, ``[*batch_shape, classes]``. dtype: of samples.
    """

    def __init__(
        self, logits: Any = None, probs: Any = None, dtype: DTypeLike = int32, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Categorical",
    ):  # fmt: skip
        parameters = dict(locals())
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args, scope)
            size = self._logits.shape.with_rank_at_least(1).as_list()[-1] if self._logits.dims is not None else None
            with name_scope("event_size"):
                self._event_size = arrays.shape(self._logits)[-1] if size is None else convert_to_tensor(size, int32)
        super().__init__(
            dtype=as_dtype(dtype), reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, parameters=parameters, graph_parents=[self._logits, self._probs],
            name=scope,
        )  # fmt: skip

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError("_param_shapes not implemented")

    @property
    def event_size(self) -> Tensor:
        """The number of classes, int32."""
        return self._event_size

    @property
    def logits(self) -> Tensor:
        return self._logits

    @property
    def probs(self) -> Tensor:
        return self._probs

    def _batch_shape_tensor(self) -> Tensor:
        return arrays.shape(self.logits)[:-1]

    def _batch_shape(self) -> TensorShape:
        return self.logits.shape[:-1]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        flat = arrays.reshape(self.logits, arrays.stack([-1, self.event_size]))
        draws = stateful.multinomial(flat, n, seed=seed, output_dtype=int64 if self.dtype.size > 4 else int32)
        return arithmetic.cast(arrays.reshape(arrays.transpose(draws), self._sample_shape(n)), self.dtype)

    def _broadcast(self, k: Tensor, parameter: Tensor) -> tuple[Tensor, Tensor]:
        """Classes, and a parameter with the dimension of classes last, in one batch shape."""
        if k.dtype.is_floating:
            k = arithmetic.cast(k, int32)
        elif not k.dtype.is_integer:
            raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({self.dtype})")
        parameter *= arrays.ones_like(arrays.expand_dims(k, -1), dtype=parameter.dtype)
        return k * arrays.ones_like(parameter[..., 0], dtype=k.dtype), parameter

    def _whole(self, k: Tensor) -> Tensor:
        if not k.dtype.is_floating:
            return k
        message = "Elements cannot contain fractional components."
        return checked(
            self.validate_args, lambda: [assertions.assert_equal(k, arithmetic.floor(k), message=message)], k
        )

    def _log_prob(self, k: Tensor) -> Tensor:
        k, logits = self._broadcast(self._whole(k), self.logits)
        return -cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k: Tensor) -> Tensor:
        k, probs = self._broadcast(self._whole(k), self.probs)
        below = gather_scatter.sequence_mask(k, self.event_size, dtype=probs.dtype)
        return reductions.reduce_sum(below * probs, -1)

    def _entropy(self) -> Tensor:
        return -reductions.reduce_sum(activations.log_softmax(self.logits) * self.probs, -1)

    def _mode(self) -> Tensor:
        return arithmetic.cast(reductions.argmax(self.logits, -1), self.dtype)

    def _kl_of_kind(self, other: Categorical, name: str | None = None) -> Tensor:
        a, b = self.logits, other.logits
        with name_scope(name, "kl_categorical_categorical", [a, b]):
            differences = activations.log_softmax(a) - activations.log_softmax(b)
            return reductions.reduce_sum(activations.softmax(a) * differences, -1)
