"""Fourier and cosine transforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import complex64, float32
from towerstrat.graph.ops.building.op_builder import add_op, add_unary
from towerstrat.graph.ops.math.elementwise import check_kind

Inputs = Sequence[Any]
Attrs = Mapping[str, Any]


def _check_rank(x: Any, count: int) -> None:
    if x.dims is not None and len(x.dims) < count:
        raise ValueError(f"Expected a tensor of rank {count} or higher, got shape {x.shape}.")


def _complex_rule(count: int) -> Any:
    def rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
        check_kind(inputs, "complex")
        _check_rank(inputs[0], count)
        return [Signature(inputs[0].dtype, inputs[0].dims)]

    return rule


def _real_rule(count: int, inverse: bool) -> Any:
    def rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
        x, length = inputs[0], attrs["fft_length"]
        kind = float32 if inverse else complex64
        if x.dtype is not (complex64 if inverse else float32):
            raise TypeError(f"Expected {'complex64' if inverse else 'float32'}, got {x.dtype.name}. Use tf.cast.")
        _check_rank(x, count)
        if x.dims is None:
            return [Signature(kind, None)]
        inner: list[int | None] = list(length or x.dims[-count:])
        if not inverse and inner[-1] is not None:
            inner[-1] = inner[-1] // 2 + 1 if inner[-1] else 0
        elif inverse and not length and inner[-1] is not None:
            inner[-1] = max(2 * (inner[-1] - 1), 0)
        dims: Dims = (*x.dims[:-count], *inner)
        return [Signature(kind, dims)]

    return rule


def _plain(function: Any, count: int) -> Callable[..., Any]:
    return lambda x: function(x, axes=tuple(range(-count, 0))).astype(x.dtype)


def _sized(function: Any, count: int) -> Callable[..., Any]:
    def kernel(x: Any, *, fft_length: tuple[int, ...] | None) -> Any:
        return function(x, s=fft_length, axes=tuple(range(-count, 0)))

    return kernel


def _name(base: str, count: int) -> str:
    return base if count == 1 else f"{base}{count}D"


for _count in (1, 2, 3):
    define_op(_name("FFT", _count), _complex_rule(_count), _plain(jnp.fft.fftn, _count))
    define_op(_name("IFFT", _count), _complex_rule(_count), _plain(jnp.fft.ifftn, _count))
    define_op(_name("RFFT", _count), _real_rule(_count, False), _sized(jnp.fft.rfftn, _count))
    define_op(_name("IRFFT", _count), _real_rule(_count, True), _sized(jnp.fft.irfftn, _count))


def _complex_transform(base: str, count: int, name: str) -> Callable[..., Tensor]:
    def function(input: Any, name: str | None = None) -> Tensor:
        return add_unary(_name(base, count), input, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {'inverse ' * name.startswith('i')}Fourier transform of the last {count} dimension(s)."
    return function


def _real_transform(base: str, count: int, name: str) -> Callable[..., Tensor]:
    def function(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        x = convert_to_tensor(input_tensor)
        length = None if fft_length is None else tuple(int(n) for n in np.ravel(fft_length))
        return add_op(
            _name(base, count), (x,), {"fft_length": length}, name or base.lower() + f"{count}d" * (count > 1)
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The Fourier transform of the last {count} dimension(s) {'back to' * name.startswith('i') or 'of'} reals.\n\n"
        "``fft_length`` are their lengths: what is longer is cropped, what is shorter padded with zeros."
    )
    return function


fft = _complex_transform("FFT", 1, "fft")
fft2d = _complex_transform("FFT", 2, "fft2d")
fft3d = _complex_transform("FFT", 3, "fft3d")
ifft = _complex_transform("IFFT", 1, "ifft")
ifft2d = _complex_transform("IFFT", 2, "ifft2d")
ifft3d = _complex_transform("IFFT", 3, "ifft3d")
rfft = _real_transform("RFFT", 1, "rfft")
rfft2d = _real_transform("RFFT", 2, "rfft2d")
rfft3d = _real_transform("RFFT", 3, "rfft3d")
irfft = _real_transform("IRFFT", 1, "irfft")
irfft2d = _real_transform("IRFFT", 2, "irfft2d")
irfft3d = _real_transform("IRFFT", 3, "irfft3d")


# ---- cosine --------------------------------------------------------------------------------------------------------


def _cosine_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    check_kind(inputs, "float")
    _check_rank(inputs[0], 1)
    return [Signature(inputs[0].dtype, inputs[0].dims)]


def _cosines(size: int, inverse: bool, ortho: bool) -> Any:
    """The matrix of the transform of the second kind, or of the third, its inverse up to a factor."""
    places = np.arange(size)
    if inverse:
        table = 2 * np.cos(np.pi * np.outer(places + 0.5, places) / size)
        table[:, 0] = 1
        if ortho:
            table *= np.sqrt(0.5 / size)
            table[:, 0] = np.sqrt(1 / size)
        return table
    table = 2 * np.cos(np.pi * np.outer(places, places + 0.5) / size)
    if ortho:
        table *= np.sqrt(0.5 / size)
        table[:1] *= np.sqrt(0.5)
    return table


def _cosine(x: Any, *, inverse: bool, norm: str | None) -> Any:
    return jnp.matmul(x, _cosines(x.shape[-1], inverse, norm == "ortho").T.astype(x.dtype))


define_op("CosineTransform", _cosine_rule, _cosine)


def _check_cosine(type: int, n: Any, axis: int, norm: Any) -> None:
    if axis != -1 or n is not None:
        raise UnsupportedError("Cosine transforms work on the whole last dimension: axis=-1, n=None.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if type not in (2, 3):
        raise ValueError(f"Only Types II and III (I)DCT are supported, got {type}.")


def dct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The cosine transform of the last dimension, of type 2 or 3; ``norm="ortho"`` makes it orthogonal."""
    _check_cosine(type, n, axis, norm)
    return add_unary("CosineTransform", input, name or "dct", {"inverse": type == 3, "norm": norm})


def idct(
    input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The cosine transform that undoes ``dct`` of the same type, up to a factor unless ``norm="ortho"``."""
    _check_cosine(type, n, axis, norm)
    return add_unary("CosineTransform", input, name or "idct", {"inverse": type == 2, "norm": norm})
