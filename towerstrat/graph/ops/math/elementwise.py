"""Operation types that work element by element: their rules, kernels and derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.op_registry import Rule, Signature, define_op
from towerstrat.graph.ir.types import DType, as_dtype, bool_, complex64, complex128, float32, float64, string
from towerstrat.graph.lowering.input_checks import DIVISOR, EXPONENT
from towerstrat.graph.ops.building.numpy_kernels import form, on_host, one_by_one, real_form, truncated_quotient
from towerstrat.graph.ops.math import elementwise_gradients
from towerstrat.graph.ops.math.elementwise_gradients import div_no_nan, sign, xdivy, xlog1py, xlogy
from towerstrat.graph.ops.math.polygamma import digamma, polygamma, zeta
from towerstrat.platform.deferred import jax_special

Kernel = Callable[..., Any]


KINDS: dict[str, tuple[str, Callable[[DType], bool]]] = {
    "number": ("a numeric type", lambda t: t.is_floating or t.is_integer or t.is_complex),
    "sum": ("a numeric type or strings", lambda t: t.is_floating or t.is_integer or t.is_complex or t is string),
    "real": ("a real numeric type", lambda t: t.is_floating or t.is_integer),
    "float": ("a floating type", lambda t: t.is_floating),
    "inexact": ("a floating or complex type", lambda t: t.is_floating or t.is_complex),
    "integer": ("an integer type", lambda t: t.is_integer),
    "bool": ("bool", lambda t: t.is_bool),
    "complex": ("a complex type", lambda t: t.is_complex),
    "any": ("any type", lambda t: True),
}


def check_kind(inputs: Sequence[Any], kind: str) -> None:
    """Raises TypeError where an input is not of the kind, or not of the first input's type."""
    words, fits = KINDS[kind]
    first = inputs[0].dtype
    if not fits(first):
        raise TypeError(f"Expected {words}, got {first.name} ({inputs[0].name}). Use tf.cast.")
    for other in inputs[1:]:
        if other.dtype is not first:
            raise TypeError(
                f"Expected inputs of one element type, got {first.name} and {other.dtype.name}. Use tf.cast."
            )


def mapping(kind: str, dtype: DType | None = None) -> Rule:
    """The rule of an element-wise type: the first input's type (or ``dtype``), the inputs' common shape."""

    def rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
        check_kind(inputs, kind)
        dims = inputs[0].dims
        for other in inputs[1:]:
            dims = shapes.broadcast(dims, other.dims)
        return [Signature(dtype or inputs[0].dtype, dims)]

    return rule


def _real_part(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    check_kind(inputs, "complex")
    return [Signature(inputs[0].dtype.real_dtype, inputs[0].dims)]


# ---- one operand ---------------------------------------------------------------------------------------------------


def _np_sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _np_log_sigmoid(x: Any) -> Any:
    return -np.logaddexp(-x, np.zeros((), x.dtype))


def _np_lgamma(x: float) -> float:
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


UNARY: tuple[tuple[str, str, Kernel, Kernel | None], ...] = (
    ("Abs", "real", jnp.abs, np.abs),
    ("Neg", "number", jnp.negative, np.negative),
    ("Sign", "number", sign, partial(sign, numpy=np)),
    ("Square", "number", jnp.square, np.square),
    ("Sqrt", "inexact", jnp.sqrt, np.sqrt),
    ("Rsqrt", "inexact", lax.rsqrt, lambda x: (1 / np.sqrt(x)).astype(x.dtype)),
    ("Reciprocal", "inexact", jnp.reciprocal, np.reciprocal),
    ("Exp", "inexact", jnp.exp, np.exp),
    ("Expm1", "inexact", jnp.expm1, np.expm1),
    ("Log", "inexact", jnp.log, np.log),
    ("Log1p", "inexact", jnp.log1p, np.log1p),
    ("Sin", "inexact", jnp.sin, np.sin),
    ("Cos", "inexact", jnp.cos, np.cos),
    ("Tan", "inexact", jnp.tan, np.tan),
    ("Asin", "inexact", jnp.arcsin, np.arcsin),
    ("Acos", "inexact", jnp.arccos, np.arccos),
    ("Atan", "inexact", jnp.arctan, np.arctan),
    ("Sinh", "inexact", jnp.sinh, np.sinh),
    ("Cosh", "inexact", jnp.cosh, np.cosh),
    ("Tanh", "inexact", jnp.tanh, np.tanh),
    ("Asinh", "inexact", jnp.arcsinh, np.arcsinh),
    ("Acosh", "inexact", jnp.arccosh, np.arccosh),
    ("Atanh", "inexact", jnp.arctanh, np.arctanh),
    (
        "Sigmoid",
        "inexact",
        lambda x: lax.logistic(x) if not jnp.iscomplexobj(x) else 1 / (1 + jnp.exp(-x)),
        _np_sigmoid,
    ),
    ("LogSigmoid", "float", jax.nn.log_sigmoid, _np_log_sigmoid),
    ("Erf", "float", lax.erf, one_by_one(math.erf)),
    ("Erfc", "float", lax.erfc, one_by_one(math.erfc)),
    ("Erfinv", "float", lax.erf_inv, None),
    ("Ndtri", "float", lambda x: jax_special.ndtri(x), None),
    ("Lgamma", "float", lax.lgamma, one_by_one(_np_lgamma)),
    ("Digamma", "float", digamma, None),
    ("BesselI0e", "float", lax.bessel_i0e, None),
    ("BesselI1e", "float", lax.bessel_i1e, None),
    ("Expint", "float", lambda x: jnp.where(x < 0, np.asarray(np.nan, x.dtype), jax_special.expi(x)), None),
    ("Conj", "inexact", jnp.conj, np.conj),
)
_ARITHMETIC = (np.add, np.subtract, np.multiply, np.negative)


def _host_form(kernel: Kernel, function: Kernel | None) -> Kernel | None:
    return function and (form(function) if function in _ARITHMETIC else real_form(kernel, function))


for _type, _kind, _kernel, _numpy in UNARY:
    define_op(
        _type, mapping(_kind), _kernel, numpy=_host_form(_kernel, _numpy), numpy_takes_objects=_numpy in _ARITHMETIC,
        gradient=elementwise_gradients.UNARY.get(_type),
    )  # fmt: skip
for _type, _kind, _kernel, _numpy in (
    ("Floor", "float", jnp.floor, np.floor),
    ("Ceil", "float", jnp.ceil, np.ceil),
    ("Round", "float", jnp.round, np.round),
    ("Rint", "float", jnp.round, np.round),
    ("Invert", "integer", jnp.invert, np.invert),
    ("LogicalNot", "bool", jnp.logical_not, np.logical_not),
):
    define_op(_type, mapping(_kind), _kernel, numpy=on_host(_numpy), differentiable=False)
for _type, _kernel, _numpy in (
    ("IsNan", jnp.isnan, np.isnan),
    ("IsInf", jnp.isinf, np.isinf),
    ("IsFinite", jnp.isfinite, np.isfinite),
):
    define_op(_type, mapping("float", bool_), _kernel, numpy=on_host(_numpy), differentiable=False)


# ---- complex numbers -----------------------------------------------------------------------------------------------


def _angle(z: Any, numpy: Any = jnp) -> Any:
    return numpy.arctan2(numpy.imag(z), numpy.real(z))


def _complex_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    real, imag = inputs
    check_kind(inputs, "float")
    kinds = {float32: complex64, float64: complex128}
    if real.dtype not in kinds:
        raise TypeError(f"Expected float32 or float64 parts of a complex tensor, got {real.dtype.name}. Use tf.cast.")
    return [Signature(kinds[real.dtype], shapes.broadcast(real.dims, imag.dims))]


def _np_complex(real: Any, imag: Any) -> Any:
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real, np.complex64))
    result.real, result.imag = real, imag
    return result


define_op(
    "ComplexAbs",
    _real_part,
    jnp.abs,
    numpy=real_form(jnp.abs, np.abs),
    gradient=elementwise_gradients.UNARY["ComplexAbs"],
)
define_op("Real", _real_part, jnp.real, numpy=np.real)
define_op("Imag", _real_part, jnp.imag, numpy=np.imag)
define_op("Angle", _real_part, _angle, numpy=on_host(partial(_angle, numpy=np)))
define_op("Complex", _complex_rule, lax.complex, numpy=_np_complex)


# ---- two operands --------------------------------------------------------------------------------------------------


def _np_pow(x: Any, y: Any) -> Any:
    """With as many exponents as bases: numpy takes the square root for a single 0.5, which is NaN of -infinity."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    return np.power(x, np.broadcast_to(y, shape).flatten().reshape(shape or (1,))).reshape(shape)


def _floor_div(x: Any, y: Any) -> Any:
    return jnp.floor_divide(x, y) if jnp.issubdtype(x.dtype, jnp.integer) else jnp.floor(x / y)


def _np_floor_div(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.floor_divide(x, y) if x.dtype.kind == "O" else np.floor(x / y)
    if (y == 0).any():
        signed = x.dtype.kind == "i"
        nothing = np.where((x != 0) & signed, np.asarray(-2 if signed else 0, x.dtype), ~np.zeros((), x.dtype))
        return np.where(y == 0, nothing, np.floor_divide(x, y)).astype(x.dtype)
    return np.floor_divide(x, y)


def _truncate_div(x: Any, y: Any) -> Any:
    return lax.div(*jnp.broadcast_arrays(x, y)) if jnp.issubdtype(x.dtype, jnp.integer) else jnp.trunc(x / y)


def _squared_difference(x: Any, y: Any, numpy: Any = jnp) -> Any:
    return numpy.square(x - y)


def _mul_no_nan(x: Any, y: Any, numpy: Any = jnp) -> Any:
    zero = y == 0
    return numpy.where(zero, numpy.zeros((), y.dtype), numpy.where(zero, numpy.ones((), x.dtype), x) * y)


def _positive(a: Any) -> Any:
    """The parameter of a special function, NaN where it is not positive: XLA's go on to the limit at 0."""
    return jnp.where(a <= 0, np.asarray(np.nan, a.dtype), a)


def _igamma(a: Any, x: Any) -> Any:
    a, x = jnp.broadcast_arrays(a, x)
    return jnp.where((a <= 0) & (x == 0), np.zeros((), x.dtype), lax.igamma(_positive(a), x))


BINARY: tuple[tuple[str, str, Kernel, Kernel | None], ...] = (
    ("Add", "sum", jnp.add, np.add),
    ("Sub", "number", jnp.subtract, np.subtract),
    ("Mul", "number", jnp.multiply, np.multiply),
    ("RealDiv", "inexact", jnp.divide, np.divide),
    ("DivNoNan", "float", div_no_nan, partial(div_no_nan, numpy=np)),
    ("FloorMod", "real", jnp.mod, np.mod),
    ("Maximum", "real", jnp.maximum, np.maximum),
    ("Minimum", "real", jnp.minimum, np.minimum),
    ("Pow", "number", jnp.power, _np_pow),
    ("SquaredDifference", "number", _squared_difference, partial(_squared_difference, numpy=np)),
    ("Atan2", "float", jnp.arctan2, np.arctan2),
    ("MulNoNan", "inexact", _mul_no_nan, partial(_mul_no_nan, numpy=np)),
    ("Xlogy", "inexact", xlogy, partial(xlogy, numpy=np)),
    ("Xlog1py", "inexact", xlog1py, partial(xlog1py, numpy=np)),
    ("Xdivy", "inexact", xdivy, partial(xdivy, numpy=np)),
    ("Igamma", "float", _igamma, None),
    ("Igammac", "float", lambda a, x: lax.igammac(*jnp.broadcast_arrays(_positive(a), x)), None),
    ("Zeta", "float", zeta, None),
    ("Polygamma", "float", polygamma, None),
)
_CHECKS = {"FloorDiv": DIVISOR, "FloorMod": DIVISOR, "TruncateDiv": DIVISOR, "TruncateMod": DIVISOR, "Pow": EXPONENT}
for _type, _kind, _kernel, _numpy in BINARY:
    define_op(
        _type, mapping(_kind), _kernel, numpy=_host_form(_kernel, _numpy), numpy_takes_objects=_numpy in _ARITHMETIC,
        check=_CHECKS.get(_type),
        gradient=elementwise_gradients.BINARY.get(_type), constants=elementwise_gradients.CONSTANTS.get(_type, ()),
    )  # fmt: skip
for _type, _kind, _kernel, _numpy in (
    ("FloorDiv", "real", _floor_div, _np_floor_div),
    ("TruncateDiv", "real", _truncate_div, truncated_quotient),
    ("TruncateMod", "real", jnp.fmod, np.fmod),
    ("LogicalAnd", "bool", jnp.logical_and, np.logical_and),
    ("LogicalOr", "bool", jnp.logical_or, np.logical_or),
    ("BitwiseAnd", "integer", jnp.bitwise_and, np.bitwise_and),
    ("BitwiseOr", "integer", jnp.bitwise_or, np.bitwise_or),
    ("BitwiseXor", "integer", jnp.bitwise_xor, np.bitwise_xor),
    ("LeftShift", "integer", jnp.left_shift, np.left_shift),
    ("RightShift", "integer", jnp.right_shift, np.right_shift),
):
    define_op(
        _type, mapping(_kind), _kernel, numpy=form(_numpy), differentiable=False,
        numpy_takes_objects=_numpy is _np_floor_div, check=_CHECKS.get(_type),
    )  # fmt: skip
for _type, _kind, _kernel, _numpy in (
    ("Less", "real", jnp.less, np.less),
    ("LessEqual", "real", jnp.less_equal, np.less_equal),
    ("Greater", "real", jnp.greater, np.greater),
    ("GreaterEqual", "real", jnp.greater_equal, np.greater_equal),
    ("Equal", "any", jnp.equal, np.equal),
    ("NotEqual", "any", jnp.not_equal, np.not_equal),
):
    define_op(_type, mapping(_kind, bool_), _kernel, numpy=on_host(_numpy), differentiable=False)


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return jax_special.betainc(*jnp.broadcast_arrays(_positive(a), _positive(b), x))


define_op("Betainc", mapping("float"), _betainc, gradient=elementwise_gradients.betainc, constants=(0, 1))


# ---- casts ---------------------------------------------------------------------------------------------------------


def _cast_rule(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    to = as_dtype(attrs["DstT"])
    for dtype in (inputs[0].dtype, to):
        if not (dtype.is_floating or dtype.is_integer or dtype.is_complex or dtype.is_bool):
            raise TypeError(f"Expected numeric or bool types, got a cast from {inputs[0].dtype.name} to {to.name}.")
    return [Signature(to, inputs[0].dims)]


def _integers(x: Any, to: Any, numpy: Any) -> Any:
    """Floats as integers, as the original's CPU has it: by way of int32 or int64, of which the low bits are kept.

    What that does not hold, NaN too, is its smallest value; compilers and numpy each do something else there.
    """
    if x.dtype.itemsize == 2:
        x = x.astype(np.float32)
    if to == np.uint64:
        half = np.asarray(2.0**63, x.dtype)
        above = _integers(x - half, np.dtype(np.int64), numpy).astype(to) ^ np.uint64(1 << 63)
        return numpy.where(x >= half, above, _integers(x, np.dtype(np.int64), numpy).astype(to))
    way = np.dtype(np.int64 if to in (np.int64, np.uint32) else np.int32)
    limit = np.asarray(2.0 ** (8 * way.itemsize - 1), x.dtype)
    fits = (x > -limit - 1) & (x < limit) if x.dtype.itemsize > way.itemsize else (x >= -limit) & (x < limit)
    smallest: Any = np.asarray(np.iinfo(str(way)).min, way)
    return numpy.where(fits, x.astype(way), smallest).astype(to)


def _cast(x: Any, *, DstT: DType, numpy: Any = jnp) -> Any:
    if numpy.iscomplexobj(x) and not DstT.is_complex:
        x = x != 0 if DstT.is_bool else numpy.real(x)
    if DstT.is_integer and jnp.issubdtype(x.dtype, jnp.floating):
        return _integers(x, np.dtype(DstT.np), numpy)
    return x.astype(DstT.np)


define_op("Cast", _cast_rule, _cast, numpy=on_host(partial(_cast, numpy=np)))
