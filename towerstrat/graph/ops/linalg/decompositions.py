"""Diagonals, norms, decompositions and solutions: operations on the last two dimensions of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.check_definitions import CheckResult, InputCheck
from towerstrat.graph.ir.given_arguments import one_of, refuse
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.integer_arguments import integer
from towerstrat.graph.ir.op_registry import Signature, define_op, same
from towerstrat.graph.ir.shapes import Dims, TensorShape, merge
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import as_dtype, float32, int64
from towerstrat.graph.lowering import input_checks
from towerstrat.graph.ops.array.arrays import expand_dims, matrix_transpose, ones, operand, squeeze, tile, zeros
from towerstrat.graph.ops.building.node_expansion import expansion
from towerstrat.graph.ops.building.op_builder import add_op, add_unary, convert_pair, reserve_name
from towerstrat.graph.ops.linalg import decomposition_gradients
from towerstrat.graph.ops.linalg.decomposition_gradients import conjugate_transpose, lower_part
from towerstrat.graph.ops.math.arithmetic import abs as abs_
from towerstrat.graph.ops.math.arithmetic import conj, lgamma, log, pow, sqrt
from towerstrat.graph.ops.math.arithmetic import real as real_
from towerstrat.graph.ops.math.elementwise import check_kind
from towerstrat.graph.ops.math.reductions import reduce_max, reduce_sum
from towerstrat.platform.deferred import jax_linalg

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]
Rule = Callable[[Inputs, Attrs], list[Signature]]


def _matrix(x: Any, square: bool = False) -> Dims:
    """The dimensions of matrices. Raises ValueError where they are none, or not square."""
    if x.dims is None:
        return None
    if len(x.dims) < 2:
        raise ValueError(f"Expected matrices (rank 2 or higher), got shape {x.shape}.")
    rows, columns = x.dims[-2:]
    if square and None not in (rows, columns) and rows != columns:
        raise ValueError(f"Expected square matrices, got shape {x.shape}.")
    return x.dims


def _least(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


# ---- diagonals -----------------------------------------------------------------------------------------------------


def _diag_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    if dims == ():
        raise ValueError("Expected diagonals of rank 1 or higher, got a scalar.")
    return [Signature(inputs[0].dtype, None if dims is None else (*dims, dims[-1]))]


def _diag_part_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = _matrix(inputs[0])
    return [Signature(inputs[0].dtype, None if dims is None else (*dims[:-2], _least(*dims[-2:])))]


def _square_mask(size: int) -> Any:
    return np.eye(size, dtype=np.bool_)


def _diagonal(x: Any, numpy: Any = jnp) -> Any:
    least = min(x.shape[-2:])
    square = numpy.asarray(x)[..., :least, :least]
    return numpy.sum(numpy.where(_square_mask(least), square, numpy.zeros((), x.dtype)), axis=-1, dtype=x.dtype)


def _matrix_diag(x: Any, numpy: Any = jnp) -> Any:
    return numpy.where(_square_mask(x.shape[-1]), x[..., None], numpy.zeros((), x.dtype))


def _matrix_set_diag(x: Any, diagonal: Any) -> Any:
    rows, columns = x.shape[-2:]
    least = min(rows, columns)
    pads = [(0, 0, 0)] * (x.ndim - 2) + [(0, rows - least, 0)]
    padded = lax.pad(jnp.asarray(diagonal), np.zeros((), x.dtype), pads)
    return jnp.where(np.eye(rows, columns, dtype=np.bool_), padded[..., None], x)


def _tensor_diag_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    return [Signature(inputs[0].dtype, None if dims is None else dims + dims)]


def _tensor_diag_part_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    if dims is None:
        return [Signature(inputs[0].dtype, None)]
    half = len(dims) // 2
    if len(dims) % 2 or not dims or not TensorShape(dims[:half]).is_compatible_with(dims[half:]):
        raise ValueError(f"Expected a tensor of even rank whose halves have equal shapes, got {inputs[0].shape}.")
    return [Signature(inputs[0].dtype, merge(dims[:half], dims[half:]))]


def _tensor_diag(x: Any, numpy: Any = jnp) -> Any:
    flat = numpy.reshape(x, (-1,))
    return numpy.reshape(numpy.where(_square_mask(flat.shape[0]), flat, numpy.zeros((), x.dtype)), x.shape + x.shape)


def _tensor_diag_part(x: Any, numpy: Any = jnp) -> Any:
    shape = x.shape[: x.ndim // 2]
    size = int(np.prod(shape, dtype=np.int64))
    return numpy.reshape(_diagonal(numpy.reshape(x, (size, size)), numpy), shape)


def _band_part(x: Any, lower: Any, upper: Any, numpy: Any = jnp) -> Any:
    num_lower, num_upper = int(lower), int(upper)
    rows, columns = x.shape[-2:]
    offset = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    keep = ((num_lower < 0) | (-offset <= num_lower)) & ((num_upper < 0) | (offset <= num_upper))
    return numpy.where(keep, x, numpy.zeros((), x.dtype))


define_op(
    "MatrixDiag", _diag_rule, _matrix_diag, numpy=partial(_matrix_diag, numpy=np), derivative="linear", additive=True
)
define_op("MatrixDiagPart", _diag_part_rule, _diagonal, numpy=partial(_diagonal, numpy=np), derivative="linear")
define_op("MatrixSetDiag", same, _matrix_set_diag, derivative="linear")
define_op(
    "Diag", _tensor_diag_rule, _tensor_diag, numpy=partial(_tensor_diag, numpy=np), derivative="linear", additive=True
)
define_op(
    "DiagPart", _tensor_diag_part_rule, _tensor_diag_part, numpy=partial(_tensor_diag_part, numpy=np),
    derivative="linear",
)  # fmt: skip


def _check_band(op: Operation, values: Sequence[Any]) -> CheckResult | None:
    x, *numbers = values
    if not input_checks.on_host(*numbers):
        return None
    for number, size, what, of in zip(
        numbers, x.shape[-2:], ("num_lower", "num_upper"), ("rows", "columns"), strict=True
    ):
        if number > size:
            words = f"{what} must be negative or less or equal to number of {of} ({size}) got: {int(number)}"
            return CheckResult(np.True_, (), lambda words=words: words)
    return None


define_op(
    "MatrixBandPart", same, _band_part, static=(1, 2), numpy=partial(_band_part, numpy=np),
    check=InputCheck(_check_band, (1, 2)), derivative="linear",
)  # fmt: skip


_BANDS = "Use tf.linalg.band_part, tf.pad and tf.roll."


def matrix_diag(
    diagonal: Any, name: str | None = None, k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0
) -> Tensor:
    """Matrices with the last dimension on their main diagonals, zero elsewhere. Others than these are refused."""
    refuse("tf.linalg.diag", _BANDS, k=(k, 0), num_rows=(num_rows, -1), num_cols=(num_cols, -1),
           padding_value=(padding_value, 0))  # fmt: skip
    return add_unary("MatrixDiag", diagonal, name)


def matrix_diag_part(input: Any, name: str | None = None, k: Any = 0, padding_value: Any = 0) -> Tensor:
    """The main diagonals of matrices; others are refused, and ``padding_value`` matters to bands of several alone."""
    refuse("tf.linalg.diag_part", _BANDS, k=(k, 0))
    return add_unary("MatrixDiagPart", input, name)


def matrix_set_diag(input: Any, diagonal: Any, name: str | None = None, k: Any = 0) -> Tensor:
    """Matrices with other main diagonals; others than these are refused."""
    refuse("tf.linalg.set_diag", _BANDS, k=(k, 0))
    return add_op("MatrixSetDiag", convert_pair(input, diagonal), None, name)


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """A tensor of twice the rank with the elements on its diagonal."""
    return add_unary("Diag", diagonal, name)


def diag_part(input: Any, name: str | None = None) -> Tensor:
    """The diagonal of a tensor of even rank."""
    return add_unary("DiagPart", input, name)


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Matrices with only so many diagonals below and above the main one kept; -1 keeps all."""
    name = reserve_name(get_default_graph(), name or "MatrixBandPart")
    parts = [operand(input, name, "input")]
    for given, what in ((num_lower, "num_lower"), (num_upper, "num_upper")):
        parts.append(given if isinstance(given, Tensor) else convert_to_tensor(given, int64, name=f"{name}{what}/"))
    return add_op("MatrixBandPart", parts, None, name)


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the diagonal of matrices."""
    with get_default_graph().name_scope(name or "Trace") as scope:
        return reduce_sum(matrix_diag_part(convert_to_tensor(x, name="x")), [-1], name=scope)


def eye(
    num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Identity matrices, ``[*batch_shape, num_rows, num_columns]``."""
    with get_default_graph().name_scope(name or "eye"):
        given = {"num_rows": num_rows, "num_columns": num_rows if num_columns is None else num_columns}
        sizes: list[Any] = [s if isinstance(s, Tensor) else integer(s, what) for what, s in given.items()]
        if not any(isinstance(s, Tensor) for s in sizes) and not isinstance(batch_shape, Tensor):
            unit = np.eye(*sizes, dtype=as_dtype(dtype).np)
            kind = "MatrixDiag" if num_columns is None else "MatrixSetDiag"
            return constant(np.broadcast_to(unit, (*(batch_shape or ()), *unit.shape)), as_dtype(dtype), name=kind)
        batch = [] if batch_shape is None else batch_shape
        if isinstance(batch, Tensor):
            raise UnsupportedError("tf.eye needs a batch_shape of Python numbers; use tf.tile for another one.")
        square = matrix_diag(ones([sizes[0]], dtype)) if num_columns is None else None
        if square is None:
            square = add_op(
                "MatrixSetDiag", (zeros(sizes, dtype), ones([add_op("Minimum", convert_pair(*sizes))], dtype))
            )
        for size in reversed(list(batch)):
            square = tile(expand_dims(square, 0), [size] + [1] * len(square.dims or ()))
        return square


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The last two dimensions swapped, complex elements conjugated."""
    with get_default_graph().name_scope(name or "adjoint"):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


def _cross_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_kind(inputs, "real")
    a, b = inputs
    a.shape.assert_is_compatible_with(b.shape)
    if a.dims is not None and (not a.dims or a.dims[-1] not in (3, None)):
        raise ValueError(f"Cross-products are only defined for 3-element vectors, got shape {a.shape}.")
    return [Signature(a.dtype, merge(a.dims, b.dims))]


define_op("Cross", _cross_rule, lambda a, b: jnp.cross(a, b), derivative="bilinear")


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross product of 3-element vectors in the last dimension."""
    return add_op("Cross", convert_pair(a, b), None, name)


# ---- norms ---------------------------------------------------------------------------------------------------------


def norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None, name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:  # fmt: skip
    """The norm of vectors (``axis`` an integer, or None: all elements) or of matrices (a pair of dimensions).

    Args:
      ord: "euclidean", 1, 2, np.inf or a positive number for vectors; "euclidean", "fro", 1, 2, np.inf for matrices.
    """
    keep = bool(one_of(keepdims, keep_dims, "keepdims", "keep_dims"))
    is_matrix = isinstance(axis, list | tuple) and len(axis) == 2
    if is_matrix:
        axis = tuple(axis)
        if not all(isinstance(a, int) for a in axis) or axis[0] == axis[1]:
            raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
        if ord not in ("euclidean", "fro", 1, 2, np.inf):
            raise ValueError(f"'ord' must be a supported matrix norm (euclidean, fro, 1, 2, inf), got {ord}")
    else:
        if not (isinstance(axis, int) or axis is None):
            raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
        if ord != "euclidean" and (isinstance(ord, str) or not np.isreal(ord) or ord <= 0):
            raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    with get_default_graph().name_scope(name or "norm"):
        x = convert_to_tensor(tensor)
        if is_matrix and ord == 2:
            result = add_unary("SpectralNorm", x, None, {"axes": axis})
        elif ord in ("fro", "euclidean", 2):
            result = sqrt(reduce_sum(x * conj(x), axis, keepdims=True))
        else:
            result = _absolute_norm(abs_(x), ord, axis, is_matrix)
        return result if keep else squeeze(result, axis)


def _absolute_norm(x: Tensor, ord: Any, axis: Any, is_matrix: bool) -> Tensor:
    if ord == 1:
        result = reduce_sum(x, axis[0] if is_matrix else axis, keepdims=True)
        return reduce_max(result, axis[1], keepdims=True) if is_matrix else result
    if ord == np.inf:
        result = reduce_sum(x, axis[1], keepdims=True) if is_matrix else x
        return reduce_max(result, axis[0] if is_matrix else axis, keepdims=True)
    return pow(reduce_sum(pow(x, ord), axis, keepdims=True), 1.0 / ord)


def _spectral_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    dims = inputs[0].dims
    if dims is None:
        return [Signature(inputs[0].dtype.real_dtype, None)]
    gone = {a % len(dims) for a in attrs["axes"]}
    return [Signature(inputs[0].dtype.real_dtype, tuple(1 if i in gone else d for i, d in enumerate(dims)))]


def _spectral(x: Any, *, axes: tuple[int, int]) -> Any:
    values = jnp.linalg.svd(jnp.moveaxis(x, axes, (-2, -1)), compute_uv=False)
    return jnp.expand_dims(jnp.max(values, axis=-1), tuple(sorted(a % x.ndim for a in axes)))


define_op("SpectralNorm", _spectral_rule, _spectral)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the beta function of the last dimension."""
    with get_default_graph().name_scope(name or "lbeta"):
        x = convert_to_tensor(x, name="x")
        return reduce_sum(lgamma(x), [-1]) - lgamma(reduce_sum(x, [-1]))


# ---- decompositions ------------------------------------------------------------------------------------------------


def _square_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_kind(inputs, "inexact")
    return [Signature(inputs[0].dtype, _matrix(inputs[0], square=True))]


def _solve_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_kind(inputs, "inexact")
    matrix, right = _matrix(inputs[0], square=attrs.get("square", True)), _matrix(inputs[1])
    if matrix is None or right is None:
        return [Signature(inputs[0].dtype, None)]
    if None not in (matrix[-2], right[-2]) and matrix[-2] != right[-2]:
        raise ValueError(f"Expected as many rows in both matrices, got {inputs[0].shape} and {inputs[1].shape}.")
    return [Signature(inputs[0].dtype, (*(merge(matrix[:-2], right[:-2]) or ()), matrix[-1], right[-1]))]


def _scalar_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_kind(inputs, "inexact")
    dims = _matrix(inputs[0], square=True)
    return [Signature(inputs[0].dtype, None if dims is None else dims[:-2])]


def _cholesky(x: Any) -> Any:
    return lower_part(lax.linalg.cholesky(x, symmetrize_input=False))


def _inverse(x: Any, *, adjoint: bool) -> Any:
    return jnp.linalg.inv(conjugate_transpose(x) if adjoint else x)


def _solve(matrix: Any, right: Any, *, adjoint: bool) -> Any:
    return jnp.linalg.solve(conjugate_transpose(matrix) if adjoint else matrix, right)


def _triangular(matrix: Any, right: Any, *, lower: bool, adjoint: bool) -> Any:
    return lax.linalg.triangular_solve(
        jnp.asarray(matrix), jnp.asarray(right), left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint
    )


def _least_squares(matrix: Any, right: Any, *, l2_regularizer: float, fast: bool, square: bool) -> Any:
    rows, columns = matrix.shape[-2:]
    weight = np.asarray(l2_regularizer, matrix.dtype)
    if rows >= columns:
        gram = conjugate_transpose(matrix) @ matrix + weight * np.eye(columns, dtype=matrix.dtype)
        return jnp.linalg.solve(gram, conjugate_transpose(matrix) @ right)
    gram = matrix @ conjugate_transpose(matrix) + weight * np.eye(rows, dtype=matrix.dtype)
    return conjugate_transpose(matrix) @ jnp.linalg.solve(gram, right)


def _decomposed(words: str) -> InputCheck:
    """The check that a decomposition of finite matrices has a result."""

    def test(op: Operation, values: Sequence[Any]) -> CheckResult:
        parts = [values[0], *values[len(op.inputs) :]]
        numpy: Any = np if input_checks.on_host(*parts) else jnp
        found = [numpy.all(numpy.isfinite(part)) for part in parts]
        return CheckResult(numpy.logical_not(numpy.all(numpy.stack(found))), (), lambda: words)

    return InputCheck(test, tuple(range(4)), after=True)


def _test_cholesky(op: Operation, values: Sequence[Any]) -> CheckResult:
    """A pivot is not positive. One that is not a number is none of these: the factor has NaN from there on."""
    numpy: Any = np if input_checks.on_host(*values) else jnp
    x, factor = values
    lower = numpy.isfinite(x) | ~np.tri(*x.shape[-2:], dtype=np.bool_)
    finite = numpy.all(lower, axis=(-2, -1)) & ~numpy.all(numpy.isfinite(factor), axis=(-2, -1))
    # What failed is NaN from its first element on, which is else the root of the first element given.
    filled = numpy.isnan(factor[..., :1, :1]) & ~numpy.isnan(x[..., :1, :1])
    wrong = numpy.any(finite) | numpy.any(filled)
    words = "Cholesky decomposition was not successful. The input might not be valid."
    return CheckResult(wrong, (), lambda: words)


_INVERTIBLE = _decomposed("Input matrix is not invertible.")
define_op(
    "Cholesky", _square_rule, _cholesky, gradient=decomposition_gradients.cholesky,
    check=InputCheck(_test_cholesky, (0,), after=True),
)  # fmt: skip


def _inverse_gradient(inputs: Any, outputs: Any, cotangents: Any, *, adjoint: bool) -> list[Any]:
    """The formula of an inverse, in terms of the inverse."""
    (y,), (g,) = outputs, cotangents
    if adjoint:
        y, g = jnp.conj(y), jnp.conj(jnp.swapaxes(g, -1, -2))
    else:
        y = jnp.swapaxes(y, -1, -2)
    return [-y @ g @ y]


define_op(
    "MatrixInverse", _square_rule, _inverse, gradient=_inverse_gradient, check=_decomposed("Input is not invertible.")
)
define_op(
    "MatrixDeterminant", _scalar_rule, jnp.linalg.det, gradient=decomposition_gradients.determinant(jnp.linalg.det)
)
define_op(
    "MatrixSolve", _solve_rule, _solve, check=_INVERTIBLE, gradient=decomposition_gradients.solution(_solve, False)
)
define_op(
    "MatrixTriangularSolve", _solve_rule, _triangular, check=_INVERTIBLE,
    gradient=decomposition_gradients.solution(_triangular, True),
)  # fmt: skip
define_op("MatrixSolveLs", _solve_rule, _least_squares)
define_op("MatrixExponential", _square_rule, lambda x: jax_linalg.expm(x))


def _solved(chol: Tensor, right: Tensor, adjoint: bool) -> Tensor:
    return add_op("MatrixTriangularSolve", [chol, right], {"lower": True, "adjoint": adjoint})


define_op("CholeskySolve", _solve_rule, lambda chol, right: _triangular(
    chol, _triangular(chol, right, lower=True, adjoint=False), lower=True, adjoint=True),
    nodes=expansion(lambda chol, right: _solved(chol, _solved(chol, right, False), True)))  # fmt: skip


def _log_determinant_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    (result,) = _scalar_rule(inputs, attrs)
    return [result, result]


def _log_determinant(x: Any) -> tuple[Any, Any]:
    sign, value = jnp.linalg.slogdet(x)
    return sign.astype(x.dtype), value.astype(x.dtype)


define_op("LogMatrixDeterminant", _log_determinant_rule, _log_determinant)


def _qr_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    kind, dims = inputs[0].dtype, _matrix(inputs[0])
    if dims is None:
        return [Signature(kind, None)] * 2
    *batch, rows, columns = dims
    inner = rows if attrs["full_matrices"] else _least(rows, columns)
    return [Signature(kind, (*batch, rows, inner)), Signature(kind, (*batch, inner, columns))]


def _qr(x: Any, *, full_matrices: bool) -> tuple[Any, Any]:
    q, r = jnp.linalg.qr(x, mode="complete" if full_matrices else "reduced")
    return q, r


def _svd_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    kind, dims = inputs[0].dtype, _matrix(inputs[0])
    unknown = dims is None
    *batch, rows, columns = dims or (None, None)
    least = _least(rows, columns)
    values = Signature(kind.real_dtype, None if unknown else (*batch, least))
    if not attrs["compute_uv"]:
        return [values]
    left, right = (rows, columns) if attrs["full_matrices"] else (least, least)
    return [values, Signature(kind, None if unknown else (*batch, rows, left)),
            Signature(kind, None if unknown else (*batch, columns, right))]  # fmt: skip


def _svd(x: Any, *, compute_uv: bool, full_matrices: bool) -> tuple[Any, ...]:
    if not compute_uv:
        return (jnp.linalg.svd(x, compute_uv=False),)
    u, s, vh = jnp.linalg.svd(x, full_matrices=full_matrices)
    return s, u, conjugate_transpose(vh)


def _eigh_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    kind, dims = inputs[0].dtype, _matrix(inputs[0], square=True)
    values = Signature(kind.real_dtype, None if dims is None else dims[:-1])
    return [values, Signature(kind, dims)]


def _eigh(x: Any) -> tuple[Any, Any]:
    whole = lower_part(x) + conjugate_transpose(lower_part(x, -1))
    values, vectors = jnp.linalg.eigh(whole, symmetrize_input=False)
    return values, vectors


define_op("Qr", _qr_rule, _qr, gradient=decomposition_gradients.factors(_qr))
define_op("Svd", _svd_rule, _svd, gradient=decomposition_gradients.singular(_svd))
define_op(
    "SelfAdjointEigV2", _eigh_rule, _eigh, gradient=decomposition_gradients.eigen,
    check=_decomposed("Self-adjoint eigen decomposition was not successful. The input might not be valid."),
)  # fmt: skip


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangular factor of positive definite matrices."""
    return add_unary("Cholesky", input, name)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """x with ``chol @ chol^H @ x = rhs``."""
    return add_op("CholeskySolve", convert_pair(chol, rhs), None, name or "cholesky_solve")


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of matrices, or of their adjoints."""
    return add_unary("MatrixInverse", input, name, {"adjoint": bool(adjoint)})


def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """The determinant of matrices."""
    return add_unary("MatrixDeterminant", input, name)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """x with ``matrix @ x = rhs``."""
    return add_op("MatrixSolve", convert_pair(matrix, rhs), {"adjoint": bool(adjoint)}, name)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """x with ``matrix @ x = rhs``, of a triangular matrix; the other triangle is not read."""
    return add_op(
        "MatrixTriangularSolve", convert_pair(matrix, rhs), {"lower": bool(lower), "adjoint": bool(adjoint)}, name
    )


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """x that makes ``matrix @ x - rhs`` smallest, plus ``l2_regularizer`` times x squared.

    Solved by the normal equations; ``fast=False`` (a full decomposition, without the regularizer) is refused.
    """
    if not fast:
        raise UnsupportedError("matrix_solve_ls works with fast=True; for rank-deficient matrices use tf.svd.")
    attrs = {"l2_regularizer": float(l2_regularizer), "fast": True, "square": False}
    return add_op("MatrixSolveLs", convert_pair(matrix, rhs), attrs, name or "matrix_solve_ls")


class Qr(NamedTuple):
    """Orthogonal and upper triangular matrices."""

    q: Tensor
    r: Tensor


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Matrices as an orthogonal times an upper triangular one."""
    x = convert_to_tensor(input)
    return Qr(*get_default_graph().add("Qr", (x,), {"full_matrices": bool(full_matrices)}, name).outputs)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values s (falling), and unless ``compute_uv`` is False, u and v with ``tensor = u diag(s) v^H``."""
    x = convert_to_tensor(tensor)
    attrs = {"compute_uv": bool(compute_uv), "full_matrices": bool(full_matrices)}
    outputs = get_default_graph().add("Svd", (x,), attrs, name).outputs
    return tuple(outputs) if compute_uv else outputs[0]


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues (rising) and eigenvectors (columns) of self-adjoint matrices; the lower triangle is read."""
    x = convert_to_tensor(tensor)
    values, vectors = get_default_graph().add("SelfAdjointEigV2", (x,), None, name).outputs
    return values, vectors


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues (rising) of self-adjoint matrices."""
    return self_adjoint_eig(tensor, name)[0]


def slogdet(input: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    x = convert_to_tensor(input)
    sign, value = get_default_graph().add("LogMatrixDeterminant", (x,), None, name).outputs
    return sign, value


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of positive definite matrices."""
    with get_default_graph().name_scope(name or "logdet"):
        chol = cholesky(matrix)
        return 2.0 * reduce_sum(log(real_(matrix_diag_part(chol))), [-1])


def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponential of matrices."""
    return add_unary("MatrixExponential", input, name or "matrix_exponential")


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(the tensor divided by its norm, the norm with dimensions kept). Arguments as of ``norm``."""
    with get_default_graph().name_scope(name or "normalize"):
        x = convert_to_tensor(tensor)
        length = norm(x, ord, axis, keepdims=True)
        return x / length, length
