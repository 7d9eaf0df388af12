"""Initializers of 2.x: without an element type of their own, and with other default spreads."""

from __future__ import annotations

from typing import Any, ClassVar

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import float32
from towerstrat.graph.scopes import initializers

_PARTS = ("partition_shape", "partition_offset", "partition_info")


class Later(initializers.Initializer):
    """The call of 2.x in front of an initializer of 1.x: ``initializer(shape, dtype=None, **kwargs)``."""

    def _made(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        """A first value of a shape, float32 by default.

        Raises:
          UnsupportedError: a part of a variable is asked for (``partition_shape``, ``partition_offset``).
        """
        parts = [name for name in _PARTS if kwargs.pop(name, None) is not None]
        if parts:
            raise UnsupportedError(f"{type(self).__name__}({parts[0]}=...): variables are initialized as a whole.")
        if kwargs:
            raise TypeError(f"{type(self).__name__}: unknown keyword arguments {', '.join(sorted(kwargs))}.")
        return super().__call__(shape, float32 if dtype is None else dtype)

    # Declared so, since partition_info, which the base takes, is gone.
    __call__: Any = _made


class Zeros(Later, initializers.Zeros):
    """Zeros; False for booleans."""

    _arguments: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__()


class Ones(Later, initializers.Ones):
    """Ones; True for booleans."""

    _arguments: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__()


class Constant(Later, initializers.Constant):
    """Given values: a number, or a list or array that fills the shape."""

    _arguments: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, value: Any = 0):
        super().__init__(value)


class RandomUniform(Later, initializers.RandomUniform):
    """Values evenly spread over ``[minval, maxval)``."""

    _arguments: ClassVar[tuple[str, ...]] = ("minval", "maxval", "seed")

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None):
        super().__init__(minval, maxval, seed)


class RandomNormal(Later, initializers.RandomNormal):
    """Values of a normal distribution."""

    _arguments: ClassVar[tuple[str, ...]] = ("mean", "stddev", "seed")

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None):
        super().__init__(mean, stddev, seed)


class TruncatedNormal(Later, initializers.TruncatedNormal):
    """Values of a normal distribution, those beyond two standard deviations drawn again."""

    _arguments: ClassVar[tuple[str, ...]] = ("mean", "stddev", "seed")

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None):
        super().__init__(mean, stddev, seed)


class VarianceScaling(Later, initializers.VarianceScaling):
    """Values with the variance ``scale / n``; arguments as in 1.x."""

    _arguments: ClassVar[tuple[str, ...]] = ("scale", "mode", "distribution", "seed")

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None
    ):
        super().__init__(scale, mode, distribution, seed)


class GlorotUniform(Later, initializers.GlorotUniform):
    """Evenly spread over ``±sqrt(6 / (inputs + outputs))``."""

    _arguments: ClassVar[tuple[str, ...]] = ("seed",)

    def __init__(self, seed: int | None = None):
        super().__init__(seed)


class GlorotNormal(Later, initializers.GlorotNormal):
    """Truncated normal with the variance ``2 / (inputs + outputs)``."""

    _arguments: ClassVar[tuple[str, ...]] = ("seed",)

    def __init__(self, seed: int | None = None):
        super().__init__(seed)


class HeUniform(Later, initializers.VarianceScaling):
    """Evenly spread over ``±sqrt(6 / inputs)``."""

    _arguments: ClassVar[tuple[str, ...]] = ("seed",)

    def __init__(self, seed: int | None = None):
        super().__init__(2.0, "fan_in", "uniform", seed)


class HeNormal(Later, initializers.VarianceScaling):
    """Truncated normal with the variance ``2 / inputs``."""

    _arguments: ClassVar[tuple[str, ...]] = ("seed",)

    def __init__(self, seed: int | None = None):
        super().__init__(2.0, "fan_in", "truncated_normal", seed)


class LecunUniform(Later, initializers.VarianceScaling):
    """Evenly spread over ``±sqrt(3 / inputs)``."""

    _arguments: ClassVar[tuple[str, ...]] = ("seed",)

    def __init__(self, seed: int | None = None):
        super().__init__(1.0, "fan_in", "uniform", seed)


class LecunNormal(Later, initializers.VarianceScaling):
    """Truncated normal with the variance ``1 / inputs``."""

    _arguments: ClassVar[tuple[str, ...]] = ("seed",)

    def __init__(self, seed: int | None = None):
        super().__init__(1.0, "fan_in", "truncated_normal", seed)


class Orthogonal(Later, initializers.Orthogonal):
    """A matrix with orthonormal rows or columns, whichever are fewer, times ``gain``."""

    _arguments: ClassVar[tuple[str, ...]] = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None):
        super().__init__(gain, seed)


class Identity(Later, initializers.Identity):
    """The identity matrix times ``gain``."""

    _arguments: ClassVar[tuple[str, ...]] = ("gain",)

    def __init__(self, gain: float = 1.0):
        super().__init__(gain)


class ConstantInPlace(Constant):
    """``Constant`` under its older name. ``support_partition`` changes nothing: there are no partitions."""

    def __init__(self, value: Any = 0, support_partition: bool = False):
        super().__init__(value)
