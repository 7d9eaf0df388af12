"""Numpy kernels: small values are computed by these, where compiling a program would cost more.

Eager operations on small values and constant folding use these forms. A form gives the results of the type's kernel, to
the last places; where a kernel is made of functions that numpy has by the same names, it takes the module as
``numpy=``, and its form is ``form(kernel, numpy=np)``. Sixteen-bit floats are computed as float32 and rounded once, as
compilers do; integer division by zero gives the bits that it has in compiled programs.

>>> segments("Sum", np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 0, 2, 9]), 3)
array([3., 0., 4.])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from ml_dtypes import finfo

from towerstrat.graph.ir.types import DType, HostArray

Kernel = Callable[..., Any]
_LIMITS = {"f": finfo, "V": finfo, "i": np.iinfo, "u": np.iinfo}
"""By kind of numpy dtype the class that tells its smallest and largest value."""


def on_host(function: Kernel) -> Kernel:
    """The function on numpy arrays, without numpy's warnings: infinities and NaNs are values here."""

    def quiet(*args: HostArray, **attrs: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args, **attrs)

    return quiet


def form(function: Kernel, **options: Any) -> Kernel:
    """``on_host(function)`` that computes 16-bit floats as float32 and rounds at the end, as the compiler does."""
    quiet = on_host(partial(function, **options) if options else function)

    def computed(*args: HostArray, **attrs: Any) -> Any:
        narrow = next((a.dtype for a in args if a.dtype.itemsize == 2 and a.dtype.kind in "fV"), None)
        if narrow is None:
            return quiet(*args, **attrs)
        result = quiet(*[a.astype(np.float32) if a.dtype == narrow else a for a in args], **attrs)
        if isinstance(result, tuple):
            return tuple([_narrowed(f, narrow) for f in result])
        return _narrowed(result, narrow)

    return computed


def real_form(kernel: Kernel, function: Kernel) -> Kernel:
    """``form(function)`` of real numbers; complex ones go through ``kernel``: numpy differs at infinities and cuts."""
    of_reals = form(function)

    def computed(*args: HostArray, **attrs: Any) -> Any:
        if not any(a.dtype.kind == "c" for a in args):
            return of_reals(*args, **attrs)
        with jax.ensure_compile_time_eval():
            return np.asarray(kernel(*args, **attrs))

    return computed


def _narrowed(value: HostArray, dtype: np.dtype[Any]) -> HostArray:
    return value.astype(dtype) if value.dtype == np.float32 else value


def one_by_one(function: Callable[[float], float]) -> Kernel:
    """A function of Python floats, for each element."""
    mapped = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(mapped(x.astype(np.float64)), np.float64).astype(x.dtype)


def _zero(dtype: np.dtype[Any]) -> HostArray:
    """The zero of an element type as a scalar array; of strings the empty one."""
    return np.full((), b"" if dtype.hasobject else 0, dtype)


# ---- places ----------------------------------------------------------------------------------------------------


def gather(x: HostArray, indices: HostArray, *, axis: int, batch_dims: int = 0) -> HostArray:
    if batch_dims:
        inner = partial(gather, axis=axis % x.ndim - 1, batch_dims=batch_dims - 1)
        return _over_batch(inner, x, indices, axis % x.ndim)
    return np.take(x, indices, axis=axis, mode="clip")


def _over_batch(function: Kernel, x: HostArray, indices: HostArray, axis: int) -> HostArray:
    if len(x):
        return np.stack([function(a, b) for a, b in zip(x, indices, strict=True)])
    one = function(np.zeros(np.maximum(x.shape[1:], 1), x.dtype), np.zeros(indices.shape[1:], indices.dtype))
    return np.zeros((0, *one.shape), x.dtype)


def _moved(indices: HostArray, size: int) -> HostArray:
    """Indices counted from the front; those outside are moved to the edge."""
    return np.clip(np.where(indices < 0, indices + size, indices), 0, size - 1)


def batch_gather(x: HostArray, indices: HostArray) -> HostArray:
    axis = indices.ndim - 1
    flat = _moved(indices, x.shape[axis]).reshape(*indices.shape, *(1,) * (x.ndim - indices.ndim))
    return np.take_along_axis(x, flat, axis=axis)


def gather_nd(x: HostArray, indices: HostArray, *, batch_dims: int = 0) -> HostArray:
    if batch_dims:
        return _over_batch(partial(gather_nd, batch_dims=batch_dims - 1), x, indices, 0)
    depth = indices.shape[-1]
    if not depth:
        return np.broadcast_to(x, (*indices.shape[:-1], *x.shape)).copy()
    return x[tuple([_moved(indices[..., i], x.shape[i]) for i in range(depth)])]


def scattered(method: str) -> Kernel:
    """A copy of an array with updates at coordinates; those beyond its ends are dropped."""

    def kernel(x: HostArray, indices: HostArray, updates: HostArray) -> HostArray:
        depth = indices.shape[-1]
        sizes = np.asarray(x.shape[:depth], np.int64)
        flat = indices.reshape(-1, depth).astype(np.int64)
        flat = np.where(flat < 0, flat + sizes, flat)
        inside = ((flat >= 0) & (flat < sizes)).all(axis=1)
        places = tuple(flat[inside].T)
        values = np.broadcast_to(updates, (*indices.shape[:-1], *x.shape[depth:])).reshape(-1, *x.shape[depth:])[inside]
        result = x.copy()
        if method == "set":
            result[places] = values
        else:
            getattr(np, method).at(result, places, values)
        return result

    return kernel


def scatter_nd(indices: HostArray, updates: HostArray, sizes: HostArray) -> HostArray:
    scatter: Callable[..., HostArray] = scattered("add")
    return scatter(np.full([int(s) for s in sizes], _zero(updates.dtype)), indices, updates)


def bincount(values: HostArray, size: HostArray, weights: HostArray, *, by_row: bool) -> HostArray:
    if by_row and values.ndim == 2:
        parts = weights if weights.size else [weights] * len(values)
        counts = [bincount(v, size, w, by_row=False) for v, w in zip(values, parts, strict=True)]
        return np.stack(counts) if counts else np.zeros((0, int(size)), weights.dtype)
    places = values.reshape(-1)
    amounts = weights.reshape(-1) if weights.size else np.ones(places.shape, weights.dtype)
    inside = (places >= 0) & (places < int(size))
    result = np.zeros(int(size), weights.dtype)
    np.add.at(result, places[inside], amounts[inside])
    return result


def partition(data: HostArray, partitions: HostArray, *, num_partitions: int) -> tuple[HostArray, ...]:
    flat = data.reshape(partitions.size, *data.shape[partitions.ndim :])
    return tuple([flat[partitions.reshape(-1) == i] for i in range(num_partitions)])


def stitch(*parts: HostArray, N: int) -> HostArray:
    indices, data = parts[:N], parts[N:]
    tail = data[0].shape[indices[0].ndim :]
    places = np.concatenate([i.reshape(-1) for i in indices])
    result = np.full((int(places.max(initial=-1)) + 1, *tail), _zero(data[0].dtype))
    for where, rows in zip(indices, data, strict=True):
        result[where.reshape(-1)] = rows.reshape(where.size, *tail)
    return result


def truncated_quotient(x: HostArray, y: HostArray) -> HostArray:
    """x / y without its fraction; all bits are set where an integer is divided by zero, as in compiled programs."""
    if x.dtype.kind not in "iu":
        return np.trunc(x / y)
    floors = np.floor_divide(x, y)
    result = floors + ((floors < 0) & (floors * y != x))
    none_set: HostArray = np.zeros((), x.dtype)
    return np.where(y == 0, ~none_set, result).astype(x.dtype)


# ---- segments --------------------------------------------------------------------------------------------------


def segments(kind: str, rows: HostArray, ids: HostArray, count: int) -> HostArray:
    """Reduce rows with equal ids ("Sum", "Prod", "Max", "Min", "Mean", "SqrtN"); ids out of range are dropped.

    Returns:
      ``[count, *rows.shape[1:]]``; ids without rows get the reduction's neutral element.
    """
    limits = _LIMITS[rows.dtype.kind](rows.dtype) if rows.dtype.kind in _LIMITS else None
    start: float | None = {"Prod": 1, "Max": limits and limits.min, "Min": limits and limits.max}.get(kind, 0)
    method = {"Prod": np.multiply, "Max": np.maximum, "Min": np.minimum}.get(kind, np.add)
    result = np.full((count, *rows.shape[1:]), start, rows.dtype)
    inside = (ids >= 0) & (ids < count)
    method.at(result, ids[inside], rows[inside])
    if kind in ("Mean", "SqrtN"):
        sizes = np.maximum(np.bincount(ids[inside], minlength=count), 1).reshape(count, *(1,) * (rows.ndim - 1))
        divisor = sizes.astype(rows.dtype)
        if rows.dtype.kind in "iu":
            return truncated_quotient(result, divisor)
        quotient: HostArray = result / (np.sqrt(divisor) if kind == "SqrtN" else divisor)
        return quotient.astype(rows.dtype)
    return result


def segment_form(kind: str, kernel: Kernel) -> Kernel:
    """``form``, but Max and Min of 16-bit floats stay so: the extreme of no rows is the dtype's own limit."""
    return on_host(kernel) if kind in ("Max", "Min") else form(kernel)


def unsorted_segments(kind: str) -> Kernel:
    def kernel(data: HostArray, ids: HostArray, number: HostArray) -> HostArray:
        rows = data.reshape(ids.size, *data.shape[ids.ndim :])
        return segments(kind, rows, ids.reshape(-1), int(number))

    return kernel


def sorted_segments(kind: str) -> Kernel:
    def kernel(data: HostArray, ids: HostArray) -> HostArray:
        if (np.diff(ids) < 0).any():
            raise ValueError("segment ids are not increasing")
        count = int(ids.max(initial=-1)) + 1
        result = segments(kind, data, ids, count)
        if kind in ("Max", "Min"):
            result[~np.isin(np.arange(count), ids)] = 0
        return result

    return kernel


# ---- order and shape -------------------------------------------------------------------------------------------


def argsort(x: HostArray, *, axis: int, descending: bool) -> HostArray:
    """Equal entries keep their order; NaNs are last in either direction."""
    if descending and x.dtype.kind in "fV":
        x, descending = -x, False
    if not descending:
        return np.argsort(x, axis=axis, kind="stable").astype(np.int32)
    order = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    last: int = x.shape[axis] - 1
    return (last - np.flip(order, axis)).astype(np.int32)


def top_k(x: HostArray, k: HostArray, *, sorted: bool) -> tuple[HostArray, HostArray]:
    key = np.where(np.isnan(x), np.asarray(-np.inf, x.dtype), x) if x.dtype.kind in "fV" else x
    indices = argsort(key, axis=-1, descending=True)[..., : int(k)]
    return np.take_along_axis(x, indices, axis=-1), indices


def roll(x: HostArray, shift: HostArray, axis: HostArray) -> HostArray:
    return np.roll(x, [int(s) for s in np.ravel(shift)], [int(a) for a in np.ravel(axis)])


def linspace(start: HostArray, stop: HostArray, number: HostArray) -> HostArray:
    if int(number) < 1:
        raise ValueError(f"Requires num > 0, got {int(number)}.")
    return np.linspace(start.astype(np.float64), stop.astype(np.float64), int(number)).astype(start.dtype)


def padded(x: HostArray, paddings: HostArray, value: HostArray | None = None) -> HostArray:
    pairs = np.reshape(paddings, (-1, 2)).tolist()
    sizes = [d + a + b for d, (a, b) in zip(x.shape, pairs, strict=True)]
    result = np.full(sizes, _zero(x.dtype) if value is None else value, x.dtype)
    result[tuple([slice(a, a + d) for d, (a, _) in zip(x.shape, pairs, strict=True)])] = x
    return result


def bitcast(x: HostArray, *, type: DType) -> HostArray:
    to = np.dtype(type.np)
    if x.dtype.itemsize > to.itemsize:
        return np.ascontiguousarray(x[..., None]).view(to)
    same = x.dtype.itemsize == to.itemsize
    return np.ascontiguousarray(x).reshape(-1).view(to).reshape(x.shape if same else x.shape[:-1])


def matmul(
    a: HostArray, b: HostArray, *, transpose_a: bool, transpose_b: bool, conjugate_a: bool = False, batch: bool = False,
    conjugate_b: bool = False,
) -> HostArray:  # fmt: skip
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"Expected matrices, got shapes {a.shape} and {b.shape}.")
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    product: HostArray = np.matmul(np.conj(a) if conjugate_a else a, np.conj(b) if conjugate_b else b)
    return product


def cumulative(function: Kernel, empty: int) -> Kernel:
    """Running totals; ``empty`` is the total of nothing."""

    def kernel(x: HostArray, *, axis: int, exclusive: bool, reverse: bool) -> HostArray:
        x = np.flip(x, axis) if reverse else x
        if exclusive:
            first = np.full_like(np.take(x, range(min(1, x.shape[axis])), axis), empty)
            x = np.concatenate([first, np.take(x, range(max(x.shape[axis] - 1, 0)), axis)], axis)
        result = function(x, axis=axis, dtype=x.dtype)
        return np.flip(result, axis) if reverse else result

    return kernel


# ---- softmax ---------------------------------------------------------------------------------------------------


def _shifted(x: HostArray, axis: int) -> HostArray:
    return x - np.max(x, axis=axis, keepdims=True) if x.size else x


def softmax(x: HostArray, *, axis: int) -> HostArray:
    powers: HostArray = np.exp(_shifted(x, axis))
    sums: HostArray = np.sum(powers, axis=axis, keepdims=True, dtype=x.dtype)
    return powers / sums


def log_softmax(x: HostArray, *, axis: int) -> HostArray:
    shifted = _shifted(x, axis)
    sums: HostArray = np.sum(np.exp(shifted), axis=axis, keepdims=True, dtype=x.dtype)
    logarithms: HostArray = np.log(sums)
    return shifted - logarithms
