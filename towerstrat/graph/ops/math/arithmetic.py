"""Element-wise mathematics: arithmetic, comparison, logic, casts, and the operators of tensors."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from towerstrat.graph.ir.composite_values import Partitioned
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.numerics_version import ORIGINAL
from towerstrat.graph.ir.op_registry import define_operator
from towerstrat.graph.ir.sparse_tensor import SparseTensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import (
    DType,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from towerstrat.graph.ops.building.op_builder import add_binary, add_op, add_unary, convert_pair, reserve_name
from towerstrat.graph.ops.math import elementwise
from towerstrat.graph.variables.variables import Variable
from towerstrat.platform import logs

_UNARY = {record.function: record for record in elementwise.UNARY if record.function}
_BINARY = {record.function: record for record in elementwise.BINARY if record.function}


def _one_operand(name: str) -> Callable[..., Any]:
    """The public function of this name, of an element-wise type with one operand."""
    record = _UNARY[name]
    type, of_sparse = record.type, record.of_sparse

    def function(x: Any, name: str | None = None) -> Any:
        if of_sparse and isinstance(x, SparseTensor):
            return x.with_values(add_unary(type, x.values, name))
        if isinstance(x, Partitioned):
            return x._map_flat(lambda values: add_unary(type, values, name))
        return add_unary(type, x, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{record.words}, element by element."
    return function


def _two_operands(name: str) -> Callable[..., Any]:
    """The public function of this name, of an element-wise type with two operands."""
    record = _BINARY[name]
    type = record.type

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        ragged = x if isinstance(x, Partitioned) else y if isinstance(y, Partitioned) else None
        if ragged is not None:
            return ragged._broadcast(lambda x, y: add_binary(type, x, y, name), x, y)
        return add_binary(type, x, y, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{record.words}, element by element, shapes broadcast.\n\n"
        "Raises:\n  TypeError: two tensors of different element types."
    )
    return function


negative = _one_operand("negative")
square = _one_operand("square")
sqrt = _one_operand("sqrt")
rsqrt = _one_operand("rsqrt")
reciprocal = _one_operand("reciprocal")
exp = _one_operand("exp")
expm1 = _one_operand("expm1")
log = _one_operand("log")
log1p = _one_operand("log1p")
sin = _one_operand("sin")
cos = _one_operand("cos")
tan = _one_operand("tan")
asin = _one_operand("asin")
acos = _one_operand("acos")
atan = _one_operand("atan")
sinh = _one_operand("sinh")
cosh = _one_operand("cosh")
tanh = _one_operand("tanh")
asinh = _one_operand("asinh")
acosh = _one_operand("acosh")
atanh = _one_operand("atanh")
sigmoid = _one_operand("sigmoid")
log_sigmoid = _one_operand("log_sigmoid")
erf = _one_operand("erf")
erfc = _one_operand("erfc")
erfinv = _one_operand("erfinv")
ndtri = _one_operand("ndtri")
lgamma = _one_operand("lgamma")
digamma = _one_operand("digamma")
expint = _one_operand("expint")
sign = _one_operand("sign")
floor = _one_operand("floor")
ceil = _one_operand("ceil")
rint = _one_operand("rint")
is_nan = _one_operand("is_nan")
is_inf = _one_operand("is_inf")
is_finite = _one_operand("is_finite")
logical_not = _one_operand("logical_not")

add = _two_operands("add")
subtract = _two_operands("subtract")
multiply = _two_operands("multiply")
floormod = mod = _two_operands("floormod")
_real_quotient = _two_operands("realdiv")
truncatediv = _two_operands("truncatediv")
truncatemod = _two_operands("truncatemod")
maximum = _two_operands("maximum")
minimum = _two_operands("minimum")
squared_difference = _two_operands("squared_difference")
xlogy = _two_operands("xlogy")
xlog1py = _two_operands("xlog1py")
multiply_no_nan = _two_operands("multiply_no_nan")
xdivy = _two_operands("xdivy")
less = _two_operands("less")
less_equal = _two_operands("less_equal")
greater = _two_operands("greater")
greater_equal = _two_operands("greater_equal")
equal = _two_operands("equal")
not_equal = _two_operands("not_equal")
logical_and = _two_operands("logical_and")
logical_or = _two_operands("logical_or")
bitwise_and = _two_operands("bitwise_and")
bitwise_or = _two_operands("bitwise_or")
bitwise_xor = _two_operands("bitwise_xor")
left_shift = _two_operands("left_shift")
right_shift = _two_operands("right_shift")


def invert(x: Any, name: str | None = None) -> Tensor:
    """Each bit of an integer flipped."""
    return add_unary("Invert", x, name)


def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y)."""
    return add_binary("Atan2", y, x, name)


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularized incomplete gamma function."""
    return add_binary("Igamma", a, x, name)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper regularized incomplete gamma function."""
    return add_binary("Igammac", a, x, name)


def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The Hurwitz zeta function."""
    return add_binary("Zeta", x, q, name)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivative of order ``a`` of digamma."""
    return add_binary("Polygamma", a, x, name)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularized incomplete beta function."""
    a, b = convert_pair(a, b)
    x, _ = convert_pair(x, a)
    return add_op("Betainc", (a, b, x), None, name)


def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """exp(-abs(x)) * bessel_i0(x)."""
    return add_unary("BesselI0e", x, name or "bessel_i0e")


def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """exp(-abs(x)) * bessel_i1(x)."""
    return add_unary("BesselI1e", x, name or "bessel_i1e")


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
    with get_default_graph().name_scope(name or "bessel_i0"):
        x = convert_to_tensor(x)
        return exp(abs(x)) * bessel_i0e(x)


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
    with get_default_graph().name_scope(name or "bessel_i1"):
        x = convert_to_tensor(x)
        return exp(abs(x)) * bessel_i1e(x)


def abs(x: Any, name: str | None = None) -> Any:
    """The absolute value; of a complex number its length, a float; of a SparseTensor that of its values."""
    if isinstance(x, SparseTensor):
        return x.with_values(abs(x.values, name))
    name = reserve_name(get_default_graph(), name or "Abs")
    x = convert_to_tensor(x, name=f"{name}x/")
    return add_op("ComplexAbs" if x.dtype.is_complex else "Abs", (x,), None, name)


def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number, halves to the even one; no gradient. Integers are returned as they are."""
    x = convert_to_tensor(x)
    return x if x.dtype.is_integer else add_op("Round", (x,), None, name)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x to the power of y."""
    return add_binary("Pow", x, y, name or "Pow")


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """Either x or y."""
    x, y = convert_pair(x, y, bool_)
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name=name)


# ---- division ------------------------------------------------------------------------------------------------------

QUOTIENTS: dict[DType, DType] = {
    uint8: float32, int8: float32, uint16: float32, int16: float32, int32: float64, int64: float64,
    uint32: float64, uint64: float64
}  # fmt: skip
"""The type that integers are divided in."""


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y: integers of 32 and 64 bits become float64, smaller ones float32."""
    name = reserve_name(get_default_graph(), name or "truediv")
    x, y = convert_pair(x, y, scope=name)
    to = QUOTIENTS.get(x.dtype)
    if to is not None:
        x = add_op("Cast", (x,), {"DstT": to}, f"{name}Cast/")
        y = add_op("Cast", (y,), {"DstT": to}, f"{name}Cast_1/")
    return add_op("RealDiv", (x, y), None, name)


def realdiv(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y: of integers, up to 1.15, without its fraction."""
    if isinstance(x, Partitioned) or isinstance(y, Partitioned):
        return _real_quotient(x, y, name=name)
    x, y = convert_pair(x, y)
    return (truncatediv if x.dtype.is_integer and not ORIGINAL.later else _real_quotient)(x, y, name=name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as Python 2 divides: floored for integers."""
    name = reserve_name(get_default_graph(), name or "div")
    x, y = convert_pair(x, y, scope=name)
    return add_op("FloorDiv" if x.dtype.is_integer else "RealDiv", (x, y), None, name)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y as Python 3 divides."""
    return x / y if name is None else truediv(x, y, name)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, floored; no gradient."""
    return add_binary("FloorDiv", x, y, name or "floordiv")


def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, floored; no gradient."""
    return add_binary("FloorDiv", x, y, name)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, zero where y is zero. Since 2.x the quotient of integers is a floating number, as of ``truediv``."""
    if ORIGINAL.later:
        x, y = convert_pair(x, y)
        to = QUOTIENTS.get(x.dtype, x.dtype)
        x, y = cast(x, to), cast(y, to)
    return add_binary("DivNoNan", x, y, name or "div_no_nan")


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, zero where x is zero."""
    with get_default_graph().name_scope(name or "reciprocal_no_nan") as scope:
        x = convert_to_tensor(x, name="x")
        return div_no_nan(constant(1, x.dtype, name="one"), x, name=scope)


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """The inverse of erfc, element by element."""
    with get_default_graph().name_scope(name or "erfcinv"):
        x = convert_to_tensor(x, name="start")
        return -ndtri(0.5 * x) * np.sqrt(0.5).astype(x.dtype.np)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A scalar times a tensor or IndexedSlices.

    Raises:
      ValueError: the first argument is not a scalar.
    """
    scalar = convert_to_tensor(scalar, x.dtype, name="scalar")
    if scalar.dims not in ((), None):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(multiply(scalar, x.values, name or "mul"), x.indices, x.dense_shape)
    return multiply(scalar, x, name or "mul")


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """The polynomial with coefficients ``coeffs`` (the highest power first) at x."""
    with get_default_graph().name_scope(name or "polyval"):
        x = convert_to_tensor(x, name="x")
        if len(coeffs) < 1:
            return add_op("ZerosLike", (x,))
        parts = [convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        result = parts[0]
        for part in parts[1:]:
            result = part + result * x
        return result


# ---- casts and complex numbers -------------------------------------------------------------------------------------


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """The values as another element type: fractions are cut off, non-zero is True, a complex number's real part.

    Takes tensors, and sparse forms whose values are cast.
    """
    to = as_dtype(dtype)
    graph = get_default_graph()
    if isinstance(x, Partitioned):
        return x._map_flat(lambda values: cast(values, to, name))
    if not isinstance(x, Tensor) and hasattr(x, "values") and hasattr(x, "indices") and hasattr(x, "dense_shape"):
        return type(x)(indices=x.indices, values=cast(x.values, to, name), dense_shape=x.dense_shape)
    name = reserve_name(graph, name or "Cast")
    x = convert_to_tensor(x, name=f"{name}x/")
    return x if x.dtype is to else graph.add("Cast", (x,), {"DstT": to}, name).outputs[0]


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """``cast`` with values outside of the new type's range set to its ends, real and imaginary part by itself."""
    with get_default_graph().name_scope(name or "saturate_cast") as scope:
        value = convert_to_tensor(value, name="value")
        to = as_dtype(dtype)
        if to.is_complex:
            parts = [real(value), imag(value)] if value.dtype.is_complex else [value]
            clipped = [saturate_cast(part, to.real_dtype) for part in parts]
            return cast(complex(clipped[0], clipped[1]) if len(parts) == 2 else clipped[0], to, name=scope)
        if value.dtype.is_complex:
            logs.warning("Casting complex to real discards imaginary part.")
            value = real(value)
        if value.dtype.min < to.min:
            value = maximum(value, constant(np.asarray(to.min).astype(value.dtype.np), value.dtype, name="min"))
        if value.dtype.max > to.max:
            value = minimum(value, constant(_largest(value.dtype, to), value.dtype, name="max"))
        return cast(value, to, name=scope)


def _largest(source: DType, to: DType) -> Any:
    """The largest value of ``source`` that ``to`` can hold."""
    value = np.asarray(to.max).astype(source.np)
    if source.is_floating and to.is_integer and int(value) > int(to.max):
        value = np.nextafter(value, np.zeros((), source.np))
    return value


def _cast_to(dtype: DType, default: str, function: str) -> Callable[..., Any]:
    def to(x: Any, name: str | None = default) -> Any:
        return cast(x, dtype, name)

    to.__name__ = to.__qualname__ = function
    to.__doc__ = f"``cast(x, tf.{dtype.name})``."
    return to


to_float = _cast_to(float32, "ToFloat", "to_float")
to_double = _cast_to(float64, "ToDouble", "to_double")
to_int32 = _cast_to(int32, "ToInt32", "to_int32")
to_int64 = _cast_to(int64, "ToInt64", "to_int64")
to_bfloat16 = _cast_to(bfloat16, "ToBFloat16", "to_bfloat16")
to_complex64 = _cast_to(complex64, "ToComplex64", "to_complex64")
to_complex128 = _cast_to(complex128, "ToComplex128", "to_complex128")


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """real + i * imag, of float32 or float64 parts."""
    return add_binary("Complex", real, imag, name)


def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; a real tensor is returned as it is."""
    x = convert_to_tensor(input)
    return add_op("Real", (x,), None, name) if x.dtype.is_complex else x


def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part of a complex tensor; zeros of a real one."""
    x = convert_to_tensor(input)
    return add_op("Imag", (x,), None, name) if x.dtype.is_complex else add_op("ZerosLike", (x,), None, name)


def angle(input: Any, name: str | None = None) -> Tensor:
    """The angle of complex numbers; of a real tensor 0, as the original gives."""
    x = convert_to_tensor(input)
    return add_op("Angle", (x,), None, name) if x.dtype.is_complex else add_op("ZerosLike", (x,), None, name)


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor is returned as it is."""
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return add_op("Conj", (x,), None, name)
    if x.dtype.is_floating or x.dtype.is_integer:
        return x
    raise TypeError(f"Expected numeric tensor, got dtype {x.dtype!r}")


# ---- operators -----------------------------------------------------------------------------------------------------


def add_operator(name: str, function: Callable[..., Any]) -> None:
    """Gives tensors ``__name__`` and ``__rname__``; operations are named after the operator."""

    def forward(x: Tensor, y: Any) -> Any:
        if not isinstance(y, Tensor) and _has_own_reverse(x, y, f"__r{name}__"):
            return NotImplemented
        return function(x, y, name=name)

    def backward(y: Tensor, x: Any) -> Any:
        return function(x, y, name=name)

    define_operator(f"__{name}__", forward)
    define_operator(f"__r{name}__", backward)


def _has_own_reverse(x: Tensor, y: Any, operator: str) -> bool:
    """Whether y is of a type that no tensor can be made of and that knows what to do with a tensor at its left."""
    if isinstance(y, SparseTensor | Partitioned):
        return hasattr(y, operator)
    if isinstance(y, Variable | int | float | builtins.complex | str | list | tuple | np.ndarray | np.generic):
        return False
    return hasattr(type(y), operator) and not hasattr(y, "dtype") and not hasattr(y, "__index__")


def _logical(of_booleans: Callable[..., Any], of_bits: Callable[..., Any]) -> Callable[..., Any]:
    """An operator of booleans, which since 2.x is one of the bits of integers too."""

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        dtype = x.dtype if isinstance(x, Tensor | Variable) else getattr(y, "dtype", None)
        bits = ORIGINAL.later and isinstance(dtype, DType) and dtype.is_integer
        return (of_bits if bits else of_booleans)(x, y, name=name)

    return function


def _inverted(x: Tensor) -> Tensor:
    return add_unary("Invert" if ORIGINAL.later and x.dtype.is_integer else "LogicalNot", x)


for _operator, _function in (
    ("add", add), ("sub", subtract), ("mul", multiply), ("truediv", truediv), ("floordiv", floordiv),
    ("mod", mod), ("pow", pow), ("and", _logical(logical_and, bitwise_and)),
    ("or", _logical(logical_or, bitwise_or)), ("xor", _logical(logical_xor, bitwise_xor)), ("div", div),
):  # fmt: skip
    add_operator(_operator, _function)
define_operator("__neg__", lambda x: add_unary("Neg", x))
define_operator("__abs__", abs)
define_operator("__invert__", _inverted)
define_operator("__lt__", lambda x, y: add_binary("Less", x, y))
define_operator("__le__", lambda x, y: add_binary("LessEqual", x, y))
define_operator("__gt__", lambda x, y: add_binary("Greater", x, y))
define_operator("__ge__", lambda x, y: add_binary("GreaterEqual", x, y))
