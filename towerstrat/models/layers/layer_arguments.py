"""Layers' arguments that may be names (initializers, activations, ...) or have several forms (sizes, paddings, ...)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.indexing import segments
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.scopes import initializers

Function = Callable[..., Any]

_INITIALIZERS: dict[str, Function] = {
    "zeros": initializers.zeros_initializer,
    "ones": initializers.ones_initializer,
    "constant": initializers.constant_initializer,
    "uniform": partial(initializers.random_uniform_initializer, -0.05, 0.05),
    "normal": partial(initializers.random_normal_initializer, 0.0, 0.05),
    "truncated_normal": partial(initializers.truncated_normal_initializer, 0.0, 0.05),
    "variance_scaling": initializers.variance_scaling_initializer,
    "orthogonal": initializers.orthogonal_initializer,
    "identity": initializers.identity_initializer,
    "glorot_uniform": initializers.glorot_uniform_initializer,
    "glorot_normal": initializers.glorot_normal_initializer,
    "he_normal": initializers.he_normal,
    "he_uniform": initializers.he_uniform,
    "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform,
}
_SAME = {
    "zero": "zeros",
    "one": "ones",
    "randomuniform": "uniform",
    "randomnormal": "normal",
    "truncatednormal": "truncated_normal",
    "variancescaling": "variance_scaling",
    "glorotuniform": "glorot_uniform",
    "glorotnormal": "glorot_normal",
    "random_uniform": "uniform",
    "random_normal": "normal",
}


def _hard_sigmoid(x: Any) -> Tensor:
    """``0.2 * x + 0.5`` between 0 and 1."""
    return arithmetic.minimum(arithmetic.maximum(arithmetic.add(arithmetic.multiply(x, 0.2), 0.5), 0.0), 1.0)


def _linear(x: Any) -> Any:
    return x


_ACTIVATIONS: dict[str, Function] = {
    "linear": _linear,
    "relu": misc.relu,
    "relu6": misc.relu6,
    "elu": misc.elu,
    "selu": misc.selu,
    "softplus": misc.softplus,
    "softsign": misc.softsign,
    "softmax": misc.softmax,
    "tanh": arithmetic.tanh,
    "sigmoid": arithmetic.sigmoid,
    "exponential": arithmetic.exp,
    "hard_sigmoid": _hard_sigmoid,
}


class L1L2:
    """The regularizer ``l1 * sum(|x|) + l2 * sum(x ** 2)``."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0):
        self.l1 = float(l1)
        self.l2 = float(l2)

    def __call__(self, x: Any) -> Any:
        terms = []
        if self.l1:
            terms.append(reductions.reduce_sum(arithmetic.multiply(self.l1, arithmetic.abs(x))))
        if self.l2:
            terms.append(reductions.reduce_sum(arithmetic.multiply(self.l2, arithmetic.square(x))))
        return segments.add_n(terms) if terms else None

    def get_config(self) -> dict[str, float]:
        return {"l1": self.l1, "l2": self.l2}


_REGULARIZERS: dict[str, Function] = {
    "l1": lambda l=0.01: L1L2(l1=l),  # noqa: E741 - the original's name
    "l2": lambda l=0.01: L1L2(l2=l),  # noqa: E741
    "l1_l2": lambda l1=0.01, l2=0.01: L1L2(l1, l2),
    "l1l2": L1L2,
}


def _made(identifier: Any, known: Mapping[str, Function], what: str) -> Any:
    """The object that a name, or ``{"class_name": name, "config": arguments}``, stands for."""
    config: Mapping[str, Any] = {}
    name = identifier
    if isinstance(identifier, Mapping):
        name, config = identifier["class_name"], identifier.get("config", {})
    key = str(name).lower()
    key = _SAME.get(key, key)
    if key not in known:
        raise ValueError(f"Unknown {what} {name!r}; known are {', '.join(sorted(known))}. A function works too.")
    return known[key](**config)


def initializer(identifier: Any) -> Any:
    """An initializer from None, a name, its configuration, a function, class or value."""
    return _made(identifier, _INITIALIZERS, "initializer") if isinstance(identifier, str | Mapping) else identifier


def activation(identifier: Any) -> Function | None:
    """An activation function from None, a name or a function."""
    if isinstance(identifier, str):
        if identifier not in _ACTIVATIONS:
            raise ValueError(f"Unknown activation {identifier!r}; known are {', '.join(sorted(_ACTIVATIONS))}.")
        return _ACTIVATIONS[identifier]
    if identifier is not None and not callable(identifier):
        raise ValueError(f"An activation must be a function or a name, got {identifier!r}.")
    function: Function | None = identifier
    return function


def regularizer(identifier: Any) -> Function | None:
    """A regularizer from None, a name, its configuration or a function of a tensor."""
    if isinstance(identifier, str | Mapping):
        made: Function = _made(identifier, _REGULARIZERS, "regularizer")
        return made
    if identifier is not None and not callable(identifier):
        raise ValueError(f"A regularizer must be a function or a name, got {identifier!r}.")
    function: Function | None = identifier
    return function


def constraint(identifier: Any) -> Function | None:
    """A constraint from None or a function of a tensor."""
    if isinstance(identifier, str | Mapping):
        raise UnsupportedError(
            f"Constraints by name ({identifier!r}) are not supported; pass a function of the variable."
        )
    function: Function | None = identifier
    return function


def described(value: Any) -> Any:
    """How ``get_config`` shows an initializer, regularizer, activation or constraint."""
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, type):
        return value.__name__
    return next(
        (name for name, function in _ACTIVATIONS.items() if function is value), getattr(value, "__name__", value)
    )


def sizes(value: Any, rank: int, what: str) -> tuple[int, ...]:
    """One integer for all of ``rank`` dimensions, or one for each.

    Raises:
      ValueError: another number of integers, or something else.
    """
    try:
        found = (value.__index__(),) * rank if hasattr(value, "__index__") else tuple(v.__index__() for v in value)
    except (TypeError, AttributeError):
        found = ()
    if len(found) != rank:
        raise ValueError(f"The `{what}` argument must be an integer or a tuple of {rank} integers, got {value!r}.")
    return found


def padding(value: str, *, causal: bool = False) -> str:
    """ "valid" or "same" ("causal" where that is allowed), in lower case."""
    found = str(value).lower()
    if found not in ("valid", "same") and not (causal and found == "causal"):
        choices = "valid, same or causal" if causal else "valid or same"
        raise ValueError(f"The `padding` argument must be {choices}, got {value!r}.")
    return found


def data_format(value: str | None) -> str:
    """ "channels_last" or "channels_first", in lower case; None is the former."""
    found = "channels_last" if value is None else str(value).lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(f"The `data_format` argument must be channels_first or channels_last, got {value!r}.")
    return found


def layout(form: str, rank: int) -> str:
    """The operations' name of a data format, for ``rank`` spatial dimensions."""
    space = "DHW"[3 - rank :]
    return f"NC{space}" if form == "channels_first" else f"N{space}C"


def channel_axis(form: str) -> int:
    return 1 if form == "channels_first" else -1


def window_length(size: int | None, window: int, how: str, stride: int, dilation: int = 1) -> int | None:
    """The number of windows along a dimension."""
    if size is None:
        return None
    extent = window + (window - 1) * (dilation - 1)
    starts = size - extent + 1 if how == "valid" else size
    return (starts + stride - 1) // stride


def unwound_length(size: Any, window: int, how: str, stride: int) -> Any:
    """The size that a transposed convolution gives a dimension; ``size`` may be a tensor."""
    if size is None:
        return None
    return size * stride + (max(window - stride, 0) if how == "valid" else 0)
