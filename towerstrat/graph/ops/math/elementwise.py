"""Operation types that work element by element, one record each: kernel, numpy form, derivative, public function.

A record of ``UNARY`` (one operand) or ``BINARY`` (two) that has a ``function`` is a public function of
``math/arithmetic.py`` by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.check_definitions import InputCheck
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.node_writer import NodeWriter
from towerstrat.graph.ir.op_registry import Derivative, Rule, Signature, define_op
from towerstrat.graph.ir.types import DType, as_dtype, bool_, complex64, complex128, float32, float64, string
from towerstrat.graph.lowering.input_checks import DIVISOR, EXPONENT
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.numpy_kernels import form, on_host, one_by_one, real_form, truncated_quotient
from towerstrat.graph.ops.building.op_builder import add_unary
from towerstrat.graph.ops.math.elementwise_gradients import (
    Formula,
    atan2_gradient,
    bessel_i1e_gradient,
    betainc_gradient,
    choice_gradient,
    div_no_nan,
    of_both,
    of_input,
    of_output,
    of_pair,
    one_where_not_zero,
    polygamma_gradient,
    pow_gradient,
    sign,
    xdivy,
    xlog1py,
    xlogy,
    zero_where_zero,
    zeta_gradient,
)
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


@dataclass(frozen=True)
class Elementwise:
    """One element-wise operation type.

    Attributes:
      type: the operation type.
      kind: the element types that it takes, a key of ``KINDS``.
      kernel: on JAX arrays, one for each operand.
      numpy: the same on numpy arrays; None: numpy has no such function.
      form: the function that makes the numpy form of ``numpy``; None: ``real_form``.
      gradient: the formula; None: JAX's derivative of the kernel.
      result: the element type of the result; None: that of the operands.
      function: the name of its public function; "": that is written out.
      words: the first words of the public function's docstring.
      nodes: of a type that the original does not have, see ``OpDef``.
      of_sparse: it keeps 0, and its public function takes a SparseTensor too.

    The others are as in ``OpDef``.
    """

    type: str
    kind: str
    kernel: Kernel
    numpy: Kernel | None = None
    form: Callable[[Kernel], Kernel] | None = None
    gradient: Formula | None = None
    result: DType | None = None
    function: str = ""
    words: str = ""
    of_sparse: bool = False
    differentiable: bool = True
    constants: tuple[int, ...] = ()
    check: InputCheck | None = None
    numpy_takes_objects: bool = False
    derivative: Derivative = "general"
    additive: bool = False
    polynomial: bool = False
    same_bits: bool = False
    passes_rows: bool = False
    nodes: Callable[[NodeWriter, Operation], None] | None = None

    def define(self) -> None:
        """Register the type."""
        form = self.form or partial(real_form, self.kernel)
        define_op(
            self.type, mapping(self.kind, self.result), self.kernel, numpy=self.numpy and form(self.numpy),
            gradient=self.gradient, differentiable=self.differentiable, constants=self.constants, check=self.check,
            numpy_takes_objects=self.numpy_takes_objects, derivative=self.derivative, additive=self.additive,
            entrywise=True, polynomial=self.polynomial, same_bits=self.same_bits, passes_rows=self.passes_rows,
            nodes=self.nodes,
        )  # fmt: skip


_arithmetic = partial(Elementwise, form=form, numpy_takes_objects=True, polynomial=True, same_bits=True)
_discrete = partial(Elementwise, form=form, differentiable=False)
_step = partial(Elementwise, form=on_host, differentiable=False)
_predicate = partial(Elementwise, form=on_host, differentiable=False, result=bool_)


# ---- one operand ---------------------------------------------------------------------------------------------------


def _np_sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _np_log_sigmoid(x: Any) -> Any:
    return -np.logaddexp(-x, np.zeros((), x.dtype))


def _expint(x: jax.Array) -> jax.Array:
    return jnp.where(x < 0, np.asarray(np.nan, x.dtype), jax_special.expi(x))


def _of_half(function: Callable[[jax.Array], jax.Array]) -> Kernel:
    """A function that JAX has in 32 and 64 bits alone, for 16-bit floats too: in 32 bits, and rounded."""

    def kernel(x: jax.Array) -> jax.Array:
        wide = x.astype(jnp.float32) if jnp.dtype(x.dtype).itemsize == 2 else x
        return function(wide).astype(x.dtype)

    return kernel


def _np_lgamma(x: float) -> float:
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


def _sigmoid(x: jax.Array) -> jax.Array:
    return 1 / (1 + jnp.exp(-x)) if jnp.iscomplexobj(x) else lax.logistic(x)


UNARY = (
    Elementwise("Abs", "real", jnp.abs, np.abs, gradient=of_input(lambda g, x: g * sign(x)), same_bits=True),
    _arithmetic("Neg", "number", jnp.negative, np.negative, function="negative", words="-x", of_sparse=True,
                derivative="linear", additive=True, passes_rows=True),
    Elementwise("Sign", "number", sign, partial(sign, numpy=np), function="sign", of_sparse=True, derivative="linear",
                words="-1, 0 or 1 (NaN stays); a complex number's direction"),
    Elementwise("Square", "number", jnp.square, np.square, function="square", words="x * x", of_sparse=True,
                polynomial=True, same_bits=True),
    Elementwise("Sqrt", "inexact", jnp.sqrt, np.sqrt, function="sqrt", words="The square root", of_sparse=True,
                gradient=of_output(lambda g, y: zero_where_zero(g, np.asarray(0.5, y.dtype) * g / y))),
    Elementwise("Rsqrt", "inexact", lax.rsqrt, lambda x: (1 / np.sqrt(x)).astype(x.dtype), function="rsqrt",
                words="1 / sqrt(x)",
                gradient=of_output(lambda g, y: zero_where_zero(g, np.asarray(-0.5, y.dtype) * g * (y * y * y)))),
    Elementwise("Reciprocal", "inexact", jnp.reciprocal, np.reciprocal, function="reciprocal", words="1 / x",
                gradient=of_output(lambda g, y: zero_where_zero(g, -y * (g * y)))),
    Elementwise("Exp", "inexact", jnp.exp, np.exp, function="exp", words="e to the power of x",
                gradient=of_output(lambda g, y: g * y)),
    Elementwise("Expm1", "inexact", jnp.expm1, np.expm1, function="expm1", words="exp(x) - 1, exact near zero"),
    Elementwise("Log", "inexact", jnp.log, np.log, function="log", words="The natural logarithm"),
    Elementwise("Log1p", "inexact", jnp.log1p, np.log1p, function="log1p", words="log(1 + x), exact near zero"),
    Elementwise("Sin", "inexact", jnp.sin, np.sin, function="sin", words="The sine"),
    Elementwise("Cos", "inexact", jnp.cos, np.cos, function="cos", words="The cosine"),
    Elementwise("Tan", "inexact", jnp.tan, np.tan, function="tan", words="The tangent"),
    Elementwise("Asin", "inexact", jnp.arcsin, np.arcsin, function="asin", words="The inverse sine"),
    Elementwise("Acos", "inexact", jnp.arccos, np.arccos, function="acos", words="The inverse cosine"),
    Elementwise("Atan", "inexact", jnp.arctan, np.arctan, function="atan", words="The inverse tangent"),
    Elementwise("Sinh", "inexact", jnp.sinh, np.sinh, function="sinh", words="The hyperbolic sine"),
    Elementwise("Cosh", "inexact", jnp.cosh, np.cosh, function="cosh", words="The hyperbolic cosine"),
    Elementwise("Tanh", "inexact", jnp.tanh, np.tanh, function="tanh", words="The hyperbolic tangent", of_sparse=True,
                gradient=of_output(lambda g, y: g * (1 - y * y))),
    Elementwise("Asinh", "inexact", jnp.arcsinh, np.arcsinh, function="asinh", words="The inverse hyperbolic sine",
                gradient=of_output(lambda g, y: g / jnp.cosh(y))),
    Elementwise("Acosh", "inexact", jnp.arccosh, np.arccosh, function="acosh", words="The inverse hyperbolic cosine",
                gradient=of_output(lambda g, y: g / jnp.sinh(y))),
    Elementwise("Atanh", "inexact", jnp.arctanh, np.arctanh, function="atanh", words="The inverse hyperbolic tangent",
                gradient=of_input(lambda g, x: g * (1 / (1 - x * x)))),
    Elementwise("Sigmoid", "inexact", _sigmoid, _np_sigmoid, function="sigmoid", words="1 / (1 + exp(-x))",
                gradient=of_output(lambda g, y: g * y * (1 - y))),
    Elementwise("LogSigmoid", "float", jax.nn.log_sigmoid, _np_log_sigmoid, function="log_sigmoid",
                words="log(sigmoid(x)), exact far from zero", gradient=of_input(lambda g, x: g * lax.logistic(-x)),
                nodes=expansion(lambda x: -add_unary("Softplus", -x))),
    Elementwise("Erf", "float", lax.erf, one_by_one(math.erf), function="erf", words="The error function",
                of_sparse=True),
    Elementwise("Erfc", "float", lax.erfc, one_by_one(math.erfc), function="erfc", words="1 - erf(x)"),
    Elementwise("Erfinv", "float", lax.erf_inv, function="erfinv", words="The inverse of erf"),
    Elementwise("Ndtri", "float", _of_half(lambda x: jax_special.ndtri(x)), function="ndtri",
                words="Where the standard normal distribution function is x"),
    Elementwise("Lgamma", "float", lax.lgamma, one_by_one(_np_lgamma), function="lgamma", words="log(abs(gamma(x)))",
                gradient=of_input(lambda g, x: g * digamma(x))),
    Elementwise("Digamma", "float", digamma, function="digamma", words="The derivative of lgamma",
                gradient=of_input(lambda g, x: g * polygamma(np.asarray(1, x.dtype), x))),
    Elementwise("Expint", "float", _of_half(_expint), function="expint",
                words="The exponential integral Ei; NaN below zero",
                gradient=of_input(lambda g, x: g * jnp.exp(x) / x)),
    Elementwise("BesselI0e", "float", lax.bessel_i0e,
                gradient=of_both(lambda g, x, y: g * (lax.bessel_i1e(x) - sign(x) * y))),
    Elementwise("BesselI1e", "float", lax.bessel_i1e, gradient=of_both(bessel_i1e_gradient)),
    Elementwise("Conj", "inexact", jnp.conj, np.conj, derivative="linear", additive=True),
    _step("Floor", "float", jnp.floor, np.floor, function="floor", same_bits=True,
          words="The largest whole number not above x; no gradient"),
    _step("Ceil", "float", jnp.ceil, np.ceil, function="ceil", same_bits=True,
          words="The smallest whole number not below x; no gradient"),
    _step("Round", "float", jnp.round, np.round),
    _step("Rint", "float", jnp.round, np.round, function="rint",
          words="The nearest whole number, halves to the even one; no gradient"),
    _step("Invert", "integer", jnp.invert, np.invert),
    _step("LogicalNot", "bool", jnp.logical_not, np.logical_not, function="logical_not", words="Not x", same_bits=True),
    _predicate("IsNan", "float", jnp.isnan, np.isnan, function="is_nan", words="Whether x is NaN"),
    _predicate("IsInf", "float", jnp.isinf, np.isinf, function="is_inf", words="Whether x is infinite"),
    _predicate("IsFinite", "float", jnp.isfinite, np.isfinite, function="is_finite",
               words="Whether x is neither infinite nor NaN"),
)  # fmt: skip


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
    "ComplexAbs", _real_part, jnp.abs, numpy=real_form(jnp.abs, np.abs), entrywise=True,
    gradient=of_input(lambda g, z: g * jnp.conj(jnp.sign(z))),
)  # fmt: skip
define_op("Real", _real_part, jnp.real, numpy=np.real, derivative="linear", additive=True, entrywise=True)
define_op("Imag", _real_part, jnp.imag, numpy=np.imag, derivative="linear", additive=True, entrywise=True)
define_op("Angle", _real_part, _angle, numpy=on_host(partial(_angle, numpy=np)), entrywise=True)
define_op("Complex", _complex_rule, lax.complex, numpy=_np_complex, derivative="linear", entrywise=True)


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


BINARY = (
    _arithmetic("Add", "sum", jnp.add, np.add, function="add", words="x + y", derivative="linear", additive=True),
    _arithmetic("Sub", "number", jnp.subtract, np.subtract, function="subtract", words="x - y", derivative="linear",
                additive=True),
    _arithmetic("Mul", "number", jnp.multiply, np.multiply, function="multiply", words="x * y", derivative="bilinear"),
    Elementwise("RealDiv", "inexact", jnp.divide, np.divide, function="realdiv", words="x / y of floats",
                derivative="quotient", same_bits=True, gradient=of_pair(lambda g, x, y: (g / y, g * (-x / y / y)))),
    Elementwise("DivNoNan", "float", div_no_nan, partial(div_no_nan, numpy=np), derivative="quotient",
                gradient=of_pair(lambda g, x, y: (div_no_nan(g, y), g * div_no_nan(div_no_nan(-x, y), y)))),
    Elementwise("FloorMod", "real", jnp.mod, np.mod, function="floormod", check=DIVISOR, derivative="linear",
                words="The remainder of division, with the divisor's sign",
                gradient=of_pair(lambda g, x, y: (g, -g * jnp.floor(x / y)))),
    Elementwise("Maximum", "real", jnp.maximum, np.maximum, function="maximum", derivative="linear", same_bits=True,
                words="The larger one; a tie's gradient goes to x",
                gradient=of_pair(lambda g, x, y: choice_gradient(x >= y, g))),
    Elementwise("Minimum", "real", jnp.minimum, np.minimum, function="minimum", derivative="linear", same_bits=True,
                words="The smaller one; a tie's gradient goes to x",
                gradient=of_pair(lambda g, x, y: choice_gradient(x <= y, g))),
    Elementwise("Pow", "number", jnp.power, _np_pow, check=EXPONENT, gradient=pow_gradient),
    Elementwise("SquaredDifference", "number", _squared_difference, partial(_squared_difference, numpy=np),
                function="squared_difference", words="(x - y) squared"),
    Elementwise("Atan2", "float", jnp.arctan2, np.arctan2, gradient=of_pair(atan2_gradient)),
    Elementwise("MulNoNan", "inexact", _mul_no_nan, partial(_mul_no_nan, numpy=np), function="multiply_no_nan",
                words="x * y, zero where y is zero, whatever x is",
                gradient=of_pair(lambda g, x, y: (g * y, g * x))),
    Elementwise("Xlogy", "inexact", xlogy, partial(xlogy, numpy=np), function="xlogy", derivative="quotient",
                words="x * log(y), zero where x is zero",
                gradient=of_pair(lambda g, x, y: (g * xlogy(one_where_not_zero(x), y), g * xdivy(x, y)))),
    Elementwise("Xlog1py", "inexact", xlog1py, partial(xlog1py, numpy=np), function="xlog1py", derivative="quotient",
                words="x * log(1 + y), zero where x is zero",
                gradient=of_pair(lambda g, x, y: (g * xlog1py(one_where_not_zero(x), y), g * xdivy(x, y + 1)))),
    Elementwise("Xdivy", "inexact", xdivy, partial(xdivy, numpy=np), function="xdivy", derivative="quotient",
                words="x / y, zero where x is zero",
                gradient=of_pair(lambda g, x, y: (g * xdivy(one_where_not_zero(x), y), g * xdivy(-x, jnp.square(y))))),
    Elementwise("Igamma", "float", _igamma),
    Elementwise("Igammac", "float", lambda a, x: lax.igammac(*jnp.broadcast_arrays(_positive(a), x))),
    Elementwise("Zeta", "float", zeta, gradient=of_pair(zeta_gradient), constants=(0,)),
    Elementwise("Polygamma", "float", polygamma, gradient=of_pair(polygamma_gradient), constants=(0,)),
    _discrete("FloorDiv", "real", _floor_div, _np_floor_div, check=DIVISOR, numpy_takes_objects=True),
    _discrete("TruncateDiv", "real", _truncate_div, truncated_quotient, function="truncatediv", check=DIVISOR,
              words="x / y without its fraction; no gradient"),
    _discrete("TruncateMod", "real", jnp.fmod, np.fmod, function="truncatemod", check=DIVISOR,
              words="The remainder of division, with x's sign; no gradient"),
    _discrete("LogicalAnd", "bool", jnp.logical_and, np.logical_and, function="logical_and", words="x and y",
              same_bits=True),
    _discrete("LogicalOr", "bool", jnp.logical_or, np.logical_or, function="logical_or", words="x or y",
              same_bits=True),
    _discrete("BitwiseAnd", "integer", jnp.bitwise_and, np.bitwise_and, function="bitwise_and",
              words="The bits set in both"),
    _discrete("BitwiseOr", "integer", jnp.bitwise_or, np.bitwise_or, function="bitwise_or",
              words="The bits set in either"),
    _discrete("BitwiseXor", "integer", jnp.bitwise_xor, np.bitwise_xor, function="bitwise_xor",
              words="The bits set in one of both"),
    _discrete("LeftShift", "integer", jnp.left_shift, np.left_shift, function="left_shift",
              words="x's bits moved left by y"),
    _discrete("RightShift", "integer", jnp.right_shift, np.right_shift, function="right_shift",
              words="x's bits moved right by y, keeping a signed x's sign"),
    _predicate("Less", "real", jnp.less, np.less, function="less", words="x < y", same_bits=True),
    _predicate("LessEqual", "real", jnp.less_equal, np.less_equal, function="less_equal", words="x <= y",
               same_bits=True),
    _predicate("Greater", "real", jnp.greater, np.greater, function="greater", words="x > y", same_bits=True),
    _predicate("GreaterEqual", "real", jnp.greater_equal, np.greater_equal, function="greater_equal", words="x >= y",
               same_bits=True),
    _predicate("Equal", "any", jnp.equal, np.equal, function="equal", words="x == y", same_bits=True),
    _predicate("NotEqual", "any", jnp.not_equal, np.not_equal, function="not_equal", words="x != y", same_bits=True),
)  # fmt: skip
for _record in (*UNARY, *BINARY):
    _record.define()


def _betainc(a: Any, b: Any, x: Any) -> Any:
    return jax_special.betainc(*jnp.broadcast_arrays(_positive(a), _positive(b), x))


define_op("Betainc", mapping("float"), _betainc, gradient=betainc_gradient, constants=(0, 1), entrywise=True)


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


define_op(
    "Cast", _cast_rule, _cast, numpy=on_host(partial(_cast, numpy=np)), derivative="linear", additive=True,
    entrywise=True, polynomial=True, same_bits=True, passes_rows=True,
)  # fmt: skip
