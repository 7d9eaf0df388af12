"""Initializers: callables that make the initial value of a variable from its shape and dtype.

An initializer adds random or constant operations; it draws when the variable's initializer operation runs. Scaled ones
take the fans of the whole variable, also where only a part of it is made (``partition_info``). ``get_config`` and
``from_config`` describe one by its constructor's arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.argument_types import ArrayLike, ShapeLike, TensorLike
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import as_shape
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.types import DType, DTypeLike, as_dtype, bool_, float32, string
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.random.stateful import random_normal, random_uniform, truncated_normal
from towerstrat.graph.variables.partitioned import PartitionInfo

_TRUNCATED = 0.8796256610342398
"""The standard deviation of the standard normal distribution truncated at 2 (``init_ops.py`` of the original)."""


def _require_floating(dtype: DTypeLike) -> DType:
    """The dtype. Raises ValueError unless it is a floating type."""
    floating = as_dtype(dtype)
    if not floating.is_floating:
        raise ValueError(f"Expected floating point type, got {floating.name}.")
    return floating


def _sizes(shape: ShapeLike) -> list[int]:
    """A fully known shape as a list."""
    return [int(d) for d in as_shape(shape).as_list()]  # type: ignore[arg-type]


def _whole(shape: ShapeLike, partition_info: PartitionInfo | None) -> list[int]:
    """The shape of the whole variable, also where only a part of it is initialized."""
    return _sizes(shape if partition_info is None else partition_info.full_shape)


class Initializer:
    """The base class: ``initializer(shape, dtype=None, partition_info=None)`` returns a tensor.

    Subclasses keep the constructor's arguments as attributes of the same names and list them in ``_arguments``.
    """

    _arguments: ClassVar[tuple[str, ...]] = ()

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define __call__.")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, with the name of the dtype."""
        arguments = {name: getattr(self, name) for name in self._arguments}
        return {k: v.name if isinstance(v, DType) else v for k, v in arguments.items()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        return cls(**config)


class Zeros(Initializer):
    """Zeros; False for booleans, empty for strings."""

    _arguments: ClassVar[tuple[str, ...]] = ("dtype",)

    def __init__(self, dtype: DTypeLike = float32):
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        kind = self.dtype if dtype is None else as_dtype(dtype)
        zero = False if kind is bool_ else "" if kind is string else 0
        return constant(zero, kind, _sizes(shape), "zeros")


class Ones(Initializer):
    """Ones; True for booleans."""

    _arguments: ClassVar[tuple[str, ...]] = ("dtype",)

    def __init__(self, dtype: DTypeLike = float32):
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        kind = self.dtype if dtype is None else as_dtype(dtype)
        return constant(True if kind is bool_ else 1, kind, _sizes(shape), "ones")


class Constant(Initializer):
    """Constant values: a number, or a list or array that fills the shape in order; its last value repeats.

    Args:
      verify_shape: whether the value must have the variable's shape.

    Raises:
      TypeError: the value is neither, or has another shape with ``verify_shape``.
    """

    _arguments: ClassVar[tuple[str, ...]] = ("value", "dtype")

    def __init__(self, value: ArrayLike = 0, dtype: DTypeLike = float32, verify_shape: bool = False):
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"Expected a number, a list, a tuple or an array as initial value, got {type(value).__name__}."
            )
        self.value: ArrayLike = value
        self.dtype = as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        kind = self.dtype if dtype is None else as_dtype(dtype)
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, kind, _sizes(shape), verify_shape=verify)


class RandomUniform(Initializer):
    """Uniformly distributed values in ``[minval, maxval)``; ``maxval`` is 1 by default for floating types."""

    _arguments: ClassVar[tuple[str, ...]] = ("minval", "maxval", "seed", "dtype")

    def __init__(
        self,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ):
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, dtype or self.dtype, self.seed)


class RandomNormal(Initializer):
    """Normally distributed values."""

    _arguments: ClassVar[tuple[str, ...]] = ("mean", "stddev", "seed", "dtype")

    def __init__(
        self, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, seed: int | None = None, dtype: DTypeLike = float32
    ):
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = _require_floating(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        return random_normal(shape, self.mean, self.stddev, dtype or self.dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Normally distributed values, truncated at two standard deviations from the mean."""

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        return truncated_normal(shape, self.mean, self.stddev, dtype or self.dtype, self.seed)


class UniformUnitScaling(Initializer):
    """Uniformly distributed values in ``±factor * sqrt(3 / n)``; n is the product of all dimensions but the last."""

    _arguments: ClassVar[tuple[str, ...]] = ("factor", "seed", "dtype")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32):
        self.factor, self.seed = factor, seed
        self.dtype = _require_floating(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        inputs = max(float(math.prod(_whole(shape, partition_info)[:-1])), 1.0)
        limit = math.sqrt(3 / inputs) * self.factor
        return random_uniform(shape, -limit, limit, dtype or self.dtype, self.seed)


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """(fan in, fan out) of a weight ``[*space, in, out]``: the product of the spatial sizes times in, or out."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


class VarianceScaling(Initializer):
    """Values with mean 0 and variance ``scale / n`` (He et al. 2015; Glorot and Bengio 2010; LeCun et al. 1998).

    Args:
      scale: positive.
      mode: n is the fan in ("fan_in"), the fan out ("fan_out") or the mean of both ("fan_avg"). See ``fans``.
      distribution: "truncated_normal" (or "normal", the same), "untruncated_normal" or "uniform".

    Raises:
      ValueError: another mode or distribution, or a scale that is not positive.
    """

    _arguments: ClassVar[tuple[str, ...]] = ("scale", "mode", "distribution", "seed", "dtype")

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal",
        seed: int | None = None, dtype: DTypeLike = float32,
    ):  # fmt: skip
        if scale <= 0.0:
            raise ValueError(f"`scale` must be a positive float, got {scale}.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Expected mode 'fan_in', 'fan_out' or 'fan_avg', got {mode!r}.")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                f"Expected distribution 'truncated_normal', 'untruncated_normal' or 'uniform', got {distribution!r}."
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = _require_floating(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        kind = dtype or self.dtype
        fan_in, fan_out = fans(_whole(shape, partition_info))
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return random_uniform(shape, -limit, limit, kind, self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(variance), kind, self.seed)
        return truncated_normal(shape, 0.0, math.sqrt(variance) / _TRUNCATED, kind, self.seed)


class GlorotUniform(VarianceScaling):
    """Uniform in ``±sqrt(6 / (fan in + fan out))`` (Glorot and Bengio 2010)."""

    _arguments: ClassVar[tuple[str, ...]] = ("seed", "dtype")

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class GlorotNormal(VarianceScaling):
    """Truncated normal with the variance ``2 / (fan in + fan out)`` (Glorot and Bengio 2010)."""

    _arguments: ClassVar[tuple[str, ...]] = ("seed", "dtype")

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


def _orthogonal(x: jax.Array, *, gain: float) -> jax.Array:
    """Q of the QR decomposition; the signs of R's diagonal make it uniform over orthogonal matrices."""
    q, r = jnp.linalg.qr(x, mode="reduced")
    diagonal = jnp.diagonal(r)
    return q * (jnp.sign(diagonal) * np.asarray(gain, x.dtype))


define_op(
    "OrthogonalColumns", lambda inputs, attrs: [Signature(inputs[0].dtype, inputs[0].dims)], _orthogonal,
    differentiable=False, needs_no_compile=True,
)  # fmt: skip


def _place_matrix(x: jax.Array, *, shape: tuple[int, ...], transposed: bool, middle: bool) -> jax.Array:
    """A matrix reshaped to a weight, or (``middle``) at the centre of a filter that is zero elsewhere."""
    matrix = x.T if transposed else x
    if not middle:
        return matrix.reshape(shape)
    matrix = matrix[: shape[-2]]
    zeros = jnp.zeros(shape, x.dtype)
    return zeros.at[tuple((d - 1) // 2 for d in shape[:-2])].set(matrix)


define_op(
    "PlacedMatrix", lambda inputs, attrs: [Signature(inputs[0].dtype, attrs["shape"])], _place_matrix,
    differentiable=False, needs_no_compile=True,
)  # fmt: skip


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns (whichever are fewer), times ``gain`` (Saxe et al. 2014).

    A shape of more than two dimensions is initialized as the matrix ``[product of all but the last, last]``.

    Raises:
      ValueError: fewer than two dimensions.
    """

    _arguments: ClassVar[tuple[str, ...]] = ("gain", "seed", "dtype")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32):
        self.gain, self.seed = gain, seed
        self.dtype = _require_floating(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        sizes = _sizes(shape)
        if len(sizes) < 2:
            raise ValueError(f"The tensor to initialize must be at least two-dimensional, got shape {sizes}.")
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        drawn = random_normal([max(rows, columns), min(rows, columns)], dtype=dtype or self.dtype, seed=self.seed)
        matrix = add_op("OrthogonalColumns", [drawn], {"gain": float(self.gain)})
        return add_op("PlacedMatrix", [matrix], {"shape": tuple(sizes), "transposed": rows < columns, "middle": False})


class ConvolutionDeltaOrthogonal(Initializer):
    """A convolution filter with an orthogonal matrix at its centre and zeros elsewhere, times ``sqrt(gain)``.

    Xiao et al. 2018, "Dynamical isometry and a mean field theory of CNNs".

    Raises:
      ValueError: other than 3 to 5 dimensions, or more input than output channels.
    """

    _arguments: ClassVar[tuple[str, ...]] = ("gain", "seed", "dtype")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32):
        self.gain, self.seed = gain, seed
        self.dtype = _require_floating(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        sizes = _sizes(shape)
        if not 3 <= len(sizes) <= 5:
            raise ValueError(f"Expected a shape of three to five dimensions, got {sizes}.")
        if sizes[-2] > sizes[-1]:
            raise ValueError(f"In_filters cannot be greater than out_filters: got {sizes[-2]} and {sizes[-1]}.")
        drawn = random_normal([sizes[-1], sizes[-1]], dtype=dtype or self.dtype, seed=self.seed)
        matrix = add_op("OrthogonalColumns", [drawn], {"gain": math.sqrt(self.gain)})
        return add_op("PlacedMatrix", [matrix], {"shape": tuple(sizes), "transposed": False, "middle": True})


class Identity(Initializer):
    """The identity matrix times ``gain``. Raises ValueError unless the shape has two dimensions."""

    _arguments: ClassVar[tuple[str, ...]] = ("gain", "dtype")

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = float32):
        self.gain = gain
        self.dtype = _require_floating(dtype)

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        full_shape = _whole(shape, partition_info)
        if len(full_shape) != 2:
            raise ValueError(f"Identity matrix initializer can only be used for 2D matrices, got shape {full_shape}.")
        kind = self.dtype if dtype is None else as_dtype(dtype)
        row, column = (0, 0) if partition_info is None else partition_info.var_offset
        rows, columns = _sizes(shape)
        matrix = np.eye(*full_shape, dtype=np.float64)[row : row + rows, column : column + columns]
        return constant((self.gain * matrix).astype(kind.np), kind)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal with the variance ``1 / fan in`` (LeCun et al. 1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform in ``±sqrt(3 / fan in)`` (LeCun et al. 1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal with the variance ``2 / fan in`` (He et al. 2015)."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform in ``±sqrt(6 / fan in)`` (He et al. 2015)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


# ---- contrib.layers ----------------------------------------------------------------------------------------------


def contrib_variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = float32,
) -> Callable[..., Tensor]:
    """``tf.contrib.layers.variance_scaling_initializer``: an initializer with the variance ``factor / n``.

    The truncated normal has the standard deviation ``sqrt(1.3 * factor / n)`` before truncation, as the original's.

    Args:
      factor: n times the variance.
      mode: n is the fan in ("FAN_IN"), the fan out ("FAN_OUT") or the mean of both ("FAN_AVG").
      uniform: uniform instead of truncated normal.
      seed: of the random operation; None: by the graph's seed, or a fresh one.
      dtype: the values' by default; a floating one.

    Raises:
      TypeError: another mode, or a type that is not floating.
    """
    kind = as_dtype(dtype)
    if not kind.is_floating:
        raise TypeError(f"Cannot create initializer for non-floating point type {kind.name}.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode!r}: expected FAN_IN, FAN_OUT or FAN_AVG.")

    def initializer(shape: ShapeLike, dtype: DTypeLike = kind, partition_info: PartitionInfo | None = None) -> Tensor:
        if not as_dtype(dtype).is_floating:
            raise TypeError(f"Cannot create initializer for non-floating point type {as_dtype(dtype).name}.")
        sizes = _sizes(shape)
        field = math.prod(sizes[:-2])
        fan_in = float(sizes[-2] if len(sizes) > 1 else (sizes or [1])[-1]) * field
        fan_out = float((sizes or [1])[-1]) * field
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2}[mode]
        if uniform:
            limit = math.sqrt(3 * factor / n)
            return random_uniform(shape, -limit, limit, dtype, seed)
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed)

    return initializer


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = float32
) -> Callable[..., Tensor]:
    """``tf.contrib.layers.xavier_initializer``: variance ``1 / n``, n the mean of fan in and fan out."""
    return contrib_variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer
zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
identity_initializer = Identity
convolutional_delta_orthogonal = ConvolutionDeltaOrthogonal
