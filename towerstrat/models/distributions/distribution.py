"""``Distribution``: what all probability distributions offer, made of what each of them defines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import branches
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.models.distributions import kl_divergence as divergence


class ReparameterizationType:
    """Whether gradients flow through samples to the parameters; compared by identity.

    Args:
      rep_type: the name that is shown.
    """

    def __init__(self, rep_type: str):
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameteriation Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
"""Samples are differentiable functions of the parameters."""
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
"""Samples have no gradient with respect to some of the parameters."""


def _undefined(what: str) -> Callable[..., Any]:
    """A method that a class may define; until then it raises."""

    def method(self: Distribution, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{what} is not implemented: {type(self).__name__}")

    return method


def _either(direct: Callable[[], Tensor], otherwise: Callable[[], Tensor]) -> Tensor:
    """The first of two ways to compute a value; the second where a class does not define the first.

    Raises:
      NotImplementedError: of the first way, where it defines neither.
    """
    try:
        return direct()
    except NotImplementedError as error:
        try:
            return otherwise()
        except NotImplementedError:
            raise error from None


class Distribution:
    """A batch of probability distributions. Samples have the shape ``[*sample_shape, *batch_shape, *event_shape]``.

    Classes derived from it define ``_sample_n``, ``_log_prob`` or ``_prob``, ``_mean`` and so on.

    Args:
      dtype: the element type of samples.
      reparameterization_type: whether samples are differentiable by the parameters.
      validate_args: parameters and values are checked when the graph runs.
      allow_nan_stats: statistics that are not defined are NaN instead of an error.
      parameters: the arguments that ``copy`` starts from.
      graph_parents: the tensors that the distribution is made of.
      name: prefix of the names of operations; the class's name by default.

    Raises:
      ValueError: a graph parent is no tensor.
    """

    def __init__(
        self,
        dtype: DType,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: Mapping[str, Any] | None = None,
        graph_parents: Sequence[Tensor] | None = None,
        name: str | None = None,
    ):
        for i, parent in enumerate(graph_parents or ()):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        if not name or not name.endswith("/"):
            with name_scope(name or type(self).__name__) as scope:
                name = scope
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = dict(parameters or {})
        self._graph_parents = list(graph_parents or ())
        self._name = name

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict[str, Tensor]:
        """Shapes of parameters, by name, that give samples of ``sample_shape``, as int32 tensors."""
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """Shapes of parameters, by name, that give samples of ``sample_shape``.

        Raises:
          ValueError: ``sample_shape`` is not fully known.
        """
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found = {}
        for name, shape in cls.param_shapes(sample_shape).items():
            static = constant_value(shape)
            if static is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            found[name] = TensorShape(static)
        return found

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError("_param_shapes not implemented")

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that the distribution was made with."""
        # Classes pass `dict(locals())`.
        return {k: v for k, v in self._parameters.items() if not k.startswith("__") and k != "self"}

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """A distribution of the same class and arguments but those given."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    # ---- shapes ----------------------------------------------------------------------------------------------------

    def _batch_shape(self) -> TensorShape:
        return TensorShape(None)

    def _event_shape(self) -> TensorShape:
        return TensorShape(None)

    _batch_shape_tensor = _undefined("batch_shape_tensor")
    _event_shape_tensor = _undefined("event_shape_tensor")

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of one sample of scalar events, as far as it is known."""
        return shapes.as_shape(self._batch_shape())

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one sample of a single distribution, as far as it is known."""
        return shapes.as_shape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """``batch_shape`` as an int32 tensor."""
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return convert_to_tensor(self.batch_shape, int32, name="batch_shape")
            return self._batch_shape_tensor()

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """``event_shape`` as an int32 tensor."""
        with self._name_scope(name):
            if self.event_shape.is_fully_defined():
                return convert_to_tensor(self.event_shape, int32, name="event_shape")
            return self._event_shape_tensor()

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether ``event_shape`` is ``[]``, a boolean tensor."""
        with self._name_scope(name):
            return convert_to_tensor(_is_scalar(self.event_shape, self.event_shape_tensor), name="is_scalar_event")

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Whether ``batch_shape`` is ``[]``, a boolean tensor."""
        with self._name_scope(name):
            return convert_to_tensor(_is_scalar(self.batch_shape, self.batch_shape_tensor), name="is_scalar_batch")

    # ---- samples and probabilities ---------------------------------------------------------------------------------

    _sample_n = _undefined("sample_n")
    _log_prob = _undefined("log_prob")
    _prob = _undefined("prob")
    _log_cdf = _undefined("log_cdf")
    _cdf = _undefined("cdf")
    _log_survival_function = _undefined("log_survival_function")
    _survival_function = _undefined("survival_function")
    _quantile = _undefined("quantile")

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Independent draws, ``[*sample_shape, *batch_shape, *event_shape]``.

        Args:
          sample_shape: integers, or an integer tensor that is a scalar or a vector.

        Raises:
          ValueError: ``sample_shape`` is a matrix or more.
        """
        with self._name_scope(name, values=[sample_shape]):
            wanted = convert_to_tensor(sample_shape, int32, name="sample_shape")
            if wanted.dims is not None and len(wanted.dims) > 1:
                raise ValueError("Input is neither scalar nor vector.")
            wanted = arrays.reshape(wanted, [-1])
            static = constant_value(wanted)
            count = reductions.reduce_prod(wanted) if static is None else int(np.prod(static))
            samples = self._sample_n(count, seed)
            samples = arrays.reshape(samples, arrays.concat([wanted, arrays.shape(samples)[1:]], 0))
            if static is not None:
                samples.set_shape(TensorShape(static).concatenate(self.batch_shape).concatenate(self.event_shape))
            return samples

    @contextmanager
    def _given(self, value: Any, name: str) -> Iterator[Tensor]:
        """Opens the scope of a method of a value; yields that as a tensor, of the samples' type if it has none."""
        with self._name_scope(name, values=[value]):
            yield convert_to_tensor(value, name="value", preferred_dtype=self.dtype)

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """The logarithm of the density, or of the probability of discrete events, at ``value``."""
        with self._given(value, name) as x:
            return _either(lambda: self._log_prob(x), lambda: arithmetic.log(self._prob(x)))

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """The density, or the probability of discrete events, at ``value``."""
        with self._given(value, name) as x:
            return _either(lambda: self._prob(x), lambda: arithmetic.exp(self._log_prob(x)))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """``log P[X <= value]``."""
        with self._given(value, name) as x:
            return _either(lambda: self._log_cdf(x), lambda: arithmetic.log(self._cdf(x)))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """``P[X <= value]``."""
        with self._given(value, name) as x:
            return _either(lambda: self._cdf(x), lambda: arithmetic.exp(self._log_cdf(x)))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """``log P[X > value]``."""
        with self._given(value, name) as x:
            return _either(lambda: self._log_survival_function(x), lambda: arithmetic.log1p(-self.cdf(x)))

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """``P[X > value]``."""
        with self._given(value, name) as x:
            return _either(lambda: self._survival_function(x), lambda: 1.0 - self.cdf(x))

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """Where ``cdf`` is ``value``."""
        with self._given(value, name) as x:
            return self._quantile(x)

    # ---- statistics ------------------------------------------------------------------------------------------------

    _entropy = _undefined("entropy")
    _mean = _undefined("mean")
    _mode = _undefined("mode")
    _variance = _undefined("variance")
    _stddev = _undefined("stddev")
    _covariance = _undefined("covariance")

    def entropy(self, name: str = "entropy") -> Tensor:
        """``-E[log_prob(X)]``, of the batch shape."""
        with self._name_scope(name):
            return self._entropy()

    def mean(self, name: str = "mean") -> Tensor:
        """``E[X]``."""
        with self._name_scope(name):
            return self._mean()

    def mode(self, name: str = "mode") -> Tensor:
        """The value of the highest probability."""
        with self._name_scope(name):
            return self._mode()

    def variance(self, name: str = "variance") -> Tensor:
        """``E[(X - E[X])^2]``, of each element."""
        with self._name_scope(name):
            return _either(self._variance, lambda: arithmetic.square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Tensor:
        """The square root of ``variance``."""
        with self._name_scope(name):
            return _either(self._stddev, lambda: arithmetic.sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> Tensor:
        """``Cov(X_i, X_j)`` of the elements of vector events, ``[*batch_shape, k, k]``."""
        with self._name_scope(name):
            return self._covariance()

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """``-E[log other(X)]`` for X of this distribution.

        Raises:
          NotImplementedError: no divergence of the two classes is registered.
        """
        with self._name_scope(name):
            return self._cross_entropy(other)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """``KL(self || other)``, of the batch shape.

        Raises:
          NotImplementedError: no divergence of the two classes is registered.
        """
        with self._name_scope(name):
            return self._kl_divergence(other)

    def _cross_entropy(self, other: Distribution) -> Tensor:
        return divergence.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def _kl_divergence(self, other: Distribution) -> Tensor:
        return divergence.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    # ---- for derived classes ---------------------------------------------------------------------------------------

    @contextmanager
    def _name_scope(self, name: str | None = None, values: Sequence[Any] | None = None) -> Iterator[str]:
        with name_scope(self.name), name_scope(name, values=[*(values or ()), *self._graph_parents]) as scope:
            yield scope

    def _where_defined(self, defined: Tensor, value: Tensor, check: Callable[[], Operation | None]) -> Tensor:
        """A statistic that not all parameters have: NaN elsewhere, or an error where ``allow_nan_stats`` is off."""
        if not self.allow_nan_stats:
            return branches.with_dependencies([check()], value)
        nan = arrays.fill(arrays.shape(value), np.array(np.nan, self.dtype.np), name="nan")
        return arrays.where(arithmetic.logical_and(defined, arrays.ones_like(value, dtype=defined.dtype)), value, nan)

    def __str__(self) -> str:
        known = [
            (what, shape) for what in ("batch", "event") if (shape := getattr(self, f"{what}_shape")).ndims is not None
        ]
        said = "".join(f", {what}_shape={shape}" for what, shape in known)
        return f'tfp.distributions.{type(self).__name__}("{self.name}"{said}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self.dtype.name}>"
        )


def _is_scalar(shape: TensorShape, shape_tensor: Callable[[], Tensor]) -> bool | Tensor:
    if shape.ndims is not None:
        return shape.ndims == 0
    return arithmetic.equal(arrays.shape(shape_tensor())[0], 0)


class ScalarDistribution(Distribution):
    """A distribution of scalars, whose batch shape is that of its parameters, broadcast.

    Attributes:
      SHAPED: names of the parameters that have the samples' shape.
    """

    SHAPED: tuple[str, ...] = ()

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        return {name: convert_to_tensor(sample_shape, int32) for name in cls.SHAPED}

    def _batch_shape_tensor(self) -> Tensor:
        return reduce(arrays.broadcast_dynamic_shape, [arrays.shape(parent) for parent in self._graph_parents])

    def _batch_shape(self) -> TensorShape:
        return reduce(arrays.broadcast_static_shape, [parent.shape for parent in self._graph_parents])

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_shape(self, n: Any) -> Tensor:
        """``[n, *batch_shape]``."""
        return arrays.concat([[n], self.batch_shape_tensor()], 0)

    def _over_batch(self, value: Tensor) -> Tensor:
        """``value`` in the batch shape."""
        return value * arrays.ones(self.batch_shape_tensor(), dtype=value.dtype)
