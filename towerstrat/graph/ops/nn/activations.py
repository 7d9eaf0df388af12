"""Activations and softmax. At corners their gradients are the original's: at 0, relu has none and elu has 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.integer_arguments import integer
from towerstrat.graph.ir.node_def import NoNodesError
from towerstrat.graph.ir.node_writer import NodeWriter
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.array.arrays import concat, transpose
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.axis_inputs import define_along, known_axis, unary_along
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.numpy_kernels import form
from towerstrat.graph.ops.building.op_builder import add_op, add_unary
from towerstrat.graph.ops.math.arithmetic import cast, erf, maximum, multiply, sigmoid, tanh
from towerstrat.graph.ops.math.elementwise_gradients import of_input, of_output

_SELU_SCALE = 1.0507009873554805
_SELU_ALPHA = 1.6732632423543772


def _like(value: float, x: Any) -> Any:
    return np.asarray(value, x.dtype)


def _np_relu(x: Any) -> Any:
    return np.maximum(x, _like(0, x))


def _np_elu(x: Any) -> Any:
    return np.where(x < 0, np.expm1(np.minimum(x, _like(0, x))), x)


def _np_selu(x: Any) -> Any:
    return _like(_SELU_SCALE, x) * np.where(x < 0, _like(_SELU_ALPHA, x) * np.expm1(np.minimum(x, _like(0, x))), x)


def _np_gelu(x: Any, *, approximate: bool) -> Any:
    half, unit = _like(0.5, x), _like(1, x)
    if approximate:
        return half * x * (unit + np.tanh(_like(math.sqrt(2 / math.pi), x) * (x + _like(0.044715, x) * x**3)))
    return half * x * numpy_kernels.one_by_one(math.erfc)(-x * _like(math.sqrt(0.5), x))


def _floating(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x = inputs[0]
    if not x.dtype.is_floating:
        raise TypeError(f"Expected a floating input, got {x.dtype.name}. Use tf.cast.")
    return [Signature(x.dtype, x.dims)]


def _real(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x = inputs[0]
    if not (x.dtype.is_floating or x.dtype.is_integer):
        raise TypeError(f"Expected a real input, got {x.dtype.name}.")
    return [Signature(x.dtype, x.dims)]


def _selu(x: Any) -> Any:
    return _like(_SELU_SCALE, x) * jnp.where(x < 0, _like(_SELU_ALPHA, x) * jnp.expm1(jnp.minimum(x, _like(0, x))), x)


def _elu(x: Any) -> Any:
    return jnp.where(x < 0, jnp.expm1(jnp.minimum(x, _like(0, x))), x)


def _slope_of_selu(y: Any) -> Any:
    return jnp.where(y < 0, y + _like(_SELU_SCALE * _SELU_ALPHA, y), _like(_SELU_SCALE, y))


def _relu(x: Any) -> Any:
    return jnp.maximum(x, _like(0, x))


define_op(
    "Relu", _real, _relu, numpy=_np_relu, gradient=of_output(lambda g, y: jnp.where(y > 0, g, _like(0, g))),
    same_bits=True,
)  # fmt: skip
define_op(
    "Relu6",
    _real,
    lambda x: jnp.clip(x, _like(0, x), _like(6, x)),
    numpy=lambda x: np.minimum(_np_relu(x), _like(6, x)),
    gradient=of_output(lambda g, y: jnp.where((y > 0) & (y < 6), g, _like(0, g))),
)
define_op(
    "Elu",
    _floating,
    _elu,
    numpy=form(_np_elu),
    gradient=of_output(lambda g, y: g * jnp.where(y < 0, y + _like(1, y), _like(1, y))),
)
define_op("Selu", _floating, _selu, numpy=form(_np_selu), gradient=of_output(lambda g, y: g * _slope_of_selu(y)))
define_op(
    "Softplus",
    _floating,
    lambda x: jnp.logaddexp(x, _like(0, x)),
    numpy=form(lambda x: np.logaddexp(x, _like(0, x))),
    gradient=of_input(lambda g, x: g * lax.logistic(x)),
)
define_op(
    "Softsign",
    _floating,
    lambda x: x / (_like(1, x) + jnp.abs(x)),
    gradient=of_input(lambda g, x: g / jnp.square(_like(1, x) + jnp.abs(x))),
    numpy=form(lambda x: x / (_like(1, x) + np.abs(x))),
)
define_op(
    "Swish", _floating, lambda x: x * lax.logistic(x), numpy=form(lambda x: x / (_like(1, x) + np.exp(-x))),
    nodes=expansion(lambda x: multiply(x, sigmoid(x))),
)  # fmt: skip


def _gelu_formula(x: Tensor, approximate: bool) -> Tensor:
    if approximate:
        return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))


define_op(
    "Gelu", _floating, lambda x, *, approximate: jax.nn.gelu(x, approximate), numpy=form(_np_gelu),
    nodes=expansion(_gelu_formula),
)  # fmt: skip


def _simple(type: str, words: str, name: str) -> Callable[..., Tensor]:
    def function(features: Any, name: str | None = None) -> Tensor:
        return add_unary(type, features, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{words}, element by element."
    return function


relu = _simple("Relu", "max(x, 0)", "relu")
relu6 = _simple("Relu6", "min(max(x, 0), 6)", "relu6")
elu = _simple("Elu", "x where it is positive, else exp(x) - 1", "elu")
selu = _simple("Selu", "The scaled elu that keeps mean 0 and variance 1", "selu")
softplus = _simple("Softplus", "log(1 + exp(x))", "softplus")
softsign = _simple("Softsign", "x / (1 + |x|)", "softsign")


def swish(features: Any, name: str | None = None) -> Tensor:
    """``x * sigmoid(x)``, element by element."""
    return add_unary("Swish", features, name or "swish")


def silu(features: Any, beta: Any = 1.0) -> Tensor:
    """``x * sigmoid(beta * x)``, element by element."""
    x = convert_to_tensor(features, name="features")
    if not isinstance(beta, Tensor) and beta == 1.0:
        return swish(x)
    return multiply(x, sigmoid(multiply(convert_to_tensor(beta, x.dtype, name="beta"), x)))


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """``x`` times the standard normal distribution function of x; ``approximate`` uses tanh instead of erf."""
    return add_unary("Gelu", features, name or "Gelu", {"approximate": bool(approximate)})


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """``max(alpha * x, x)``, element by element. Integers become float32."""
    with get_default_graph().name_scope(name or "LeakyRelu") as scope:
        x = convert_to_tensor(features, name="features")
        if x.dtype.is_integer:
            x = cast(x, float32)
        return maximum(multiply(convert_to_tensor(alpha, x.dtype, name="alpha"), x), x, name=scope)


def _crelu_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x = inputs[0]
    if x.dims is None:
        return [Signature(x.dtype, None)]
    axis = check_axis(attrs["axis"], len(x.dims))
    return [Signature(x.dtype, tuple(d if i != axis or d is None else 2 * d for i, d in enumerate(x.dims)))]


def _crelu(x: Any, *, axis: int) -> Any:
    return _relu(jnp.concatenate([x, -x], axis))


def _crelu_gradient(g: Any, y: Any, *, axis: int) -> Any:
    positive, negative = jnp.split(jnp.where(y > 0, g, _like(0, g)), 2, axis)
    return positive - negative


define_op(
    "CRelu",
    _crelu_rule,
    _crelu,
    numpy=lambda x, *, axis: _np_relu(np.concatenate([x, -x], axis)),
    gradient=of_output(_crelu_gradient),
    nodes=expansion(lambda x, axis: relu(concat([x, -x], axis))),
)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """The positive part and the negative part side by side: twice as many channels.

    Args:
      axis: the dimension along which the two are joined.
    """
    with get_default_graph().name_scope(name or "CRelu"):
        return add_op("CRelu", [convert_to_tensor(features, name="features")], {"axis": integer(axis)}, "Relu")


# ---- softmax -----------------------------------------------------------------------------------------------------


def check_axis(axis: int, rank: int) -> int:
    """A dimension counted from the front.

    Raises:
      ValueError: there is no such dimension.
    """
    if not -rank <= axis < rank:
        raise ValueError(f"Expected an axis in [{-rank}, {rank}), got {axis}.")
    return axis % rank


def _softmax_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    x = inputs[0]
    if x.dims is not None:
        if not x.dims:
            raise ValueError("Expected logits of rank 1 or more, got a scalar.")
        check_axis(attrs["axis"], len(x.dims))
    return _floating(inputs, attrs)


def _softmax(x: Any, *, axis: int) -> Any:
    return jax.nn.softmax(x, axis=axis) if x.size else x


def _log_softmax(x: Any, *, axis: int) -> Any:
    return jax.nn.log_softmax(x, axis=axis) if x.size else x


def _softmax_gradient(g: Any, y: Any, *, axis: int) -> Any:
    return (g - jnp.sum(g * y, axis, keepdims=True)) * y


def _log_softmax_gradient(g: Any, y: Any, *, axis: int) -> Any:
    return g - jnp.sum(g, axis, keepdims=True) * jnp.exp(y)


def _along_last(type: str) -> Callable[[NodeWriter, Operation], None]:
    """Nodes of a type that the original computes along the last dimension only: it transposes in front and behind."""

    def formula(x: Tensor, *axis_input: Tensor, axis: int | None) -> Tensor:
        if axis is None or x.dims is None:
            raise NoNodesError(f"{type} along an axis that only a run knows has no nodes of the original.")
        return _exchanged(add_op(type, [_exchanged(x, axis)], {"axis": -1}), axis)

    write = expansion(formula)

    def nodes(writer: NodeWriter, op: Operation) -> None:
        dims, axis = op.inputs[0].dims, op.attrs["axis"]
        (NodeWriter.write_same if axis == -1 or (dims and axis == len(dims) - 1) else write)(writer, op)

    return nodes


def _exchanged(x: Tensor, axis: int) -> Tensor:
    """With one dimension and the last in each other's place."""
    order = list(range(len(x.dims or ())))
    order[axis], order[-1] = order[-1], order[axis]
    return transpose(x, order)


define_along(
    "Softmax", _softmax_rule, _softmax, numpy=form(numpy_kernels.softmax), gradient=of_output(_softmax_gradient),
    nodes=_along_last("Softmax"),
)  # fmt: skip
define_along(
    "LogSoftmax",
    _softmax_rule,
    _log_softmax,
    numpy=form(numpy_kernels.log_softmax),
    gradient=of_output(_log_softmax_gradient),
    nodes=_along_last("LogSoftmax"),
)


def _softmax_axis(axis: Any, dim: Any) -> int | Tensor:
    """The axis from its present and its deprecated name, the last by default.

    Raises:
      ValueError: both are given.
    """
    if axis is not None and dim is not None:
        raise ValueError("Specify either axis or its deprecated name dim, not both.")
    chosen = dim if axis is None else axis
    return known_axis(-1 if chosen is None else chosen)


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """``exp(logits) / sum(exp(logits))`` along an axis, the last by default. ``dim``: deprecated name of ``axis``."""
    return unary_along("Softmax", logits, _softmax_axis(axis, dim), None, name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """``logits - log(sum(exp(logits)))`` along an axis, the last by default. ``dim``: deprecated name of ``axis``."""
    return unary_along("LogSoftmax", logits, _softmax_axis(axis, dim), None, name)
