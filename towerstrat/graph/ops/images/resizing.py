"""Making images smaller or larger: the operation types, and the functions of 1.x and 2.x."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from towerstrat.graph.ir.constant_folding import constant_value_as_dims
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, DType, HostArray, float32, float64, int32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.control.branches import with_dependencies
from towerstrat.graph.ops.images import resize_kernels
from towerstrat.graph.ops.images.cropping import pad_to_bounding_box
from towerstrat.graph.ops.images.image_shapes import Size, at_least_3d, batched, ensure, shaped, unbatched
from towerstrat.graph.ops.math import arithmetic


class ResizeMethodV1:
    """The methods by number."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


class ResizeMethod:
    """The methods by name."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def _rule(kind: DType | None) -> Callable[[Sequence[Tensor], Attrs], list[Signature]]:
    """The rule of types with images ``[batch, height, width, channels]`` and a size as inputs.

    Args:
      kind: the element type of the result; None for that of the images.
    """

    def rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
        images, size = inputs
        if images.dims is not None and len(images.dims) != 4:
            raise ValueError(f"Shape must be rank 4 but is rank {len(images.dims)}: expected images "
                             f"[batch, height, width, channels], got {images.shape}.")  # fmt: skip
        if not TensorShape(size.dims).is_compatible_with([2]):
            raise ValueError(f"Expected a size of two integers, got shape {size.shape}.")
        if not (images.dtype.is_integer or images.dtype.is_floating):
            raise TypeError(f"Expected images of numbers, got {images.dtype.name}.")
        if attrs.get("align_corners") and attrs.get("half_pixel_centers"):
            raise ValueError("If half_pixel_centers is True, align_corners must be False.")
        batch, _, _, channels = images.dims or (None,) * 4
        height, width = _static_size(size)
        return [Signature(kind or images.dtype, (batch, height, width, channels))]

    return rule


def _static_size(size: Tensor) -> tuple[int | None, int | None]:
    known = constant_value_as_dims(size)
    if known is None:
        return None, None
    _check_positive(known)
    height, width = known
    return height, width


def _check_positive(size: Sequence[int | None]) -> None:
    if any(d is not None and d <= 0 for d in size):
        raise ValueError(f"output dimensions must be positive, got {list(size)}.")


def _sized(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that refuses images and sizes of which that was not known while the graph was built."""

    def sized(images: Array, size: HostArray, **attrs: Any) -> Array:
        shaped(images, [None] * 4, "images")
        shaped(size, [2], "a size")
        _check_positive(size.tolist())
        return kernel(images, size, **attrs)

    return sized


def _methods(name: str) -> dict[str, Any]:
    return {
        "kernel": _sized(partial(resize_kernels.resize, method=name)),
        "numpy": _sized(partial(resize_kernels.resize_on_host, method=name)),
        "static": (1,),
    }


define_op("ResizeBilinear", _rule(float32), **_methods("bilinear"))
define_op("ResizeBicubic", _rule(float32), **_methods("bicubic"))
define_op("ResizeArea", _rule(float32), **_methods("area"), differentiable=False)
define_op("ResizeNearestNeighbor", _rule(None), _sized(resize_kernels.nearest), static=(1,),
       numpy=_sized(partial(resize_kernels.nearest, numpy=np)))  # fmt: skip
define_op("ScaleAndTranslate", _rule(float32), _sized(resize_kernels.by_kernel), static=(1,),
       numpy=_sized(resize_kernels.by_kernel_on_host))  # fmt: skip


def _operation(type: str, name: str, words: str) -> Callable[..., Tensor]:
    def function(
        images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
    ) -> Tensor:
        inputs = [convert_to_tensor(images, name="images"), convert_to_tensor(size, int32, name="size")]
        attrs = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
        return add_op(type, inputs, attrs, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Images ``[batch, *size, channels]`` of images ``[batch, height, width, channels]``: {words}.\n\n"
        "Args:\n  align_corners: the corner pixels of both have the same centres.\n"
        "  half_pixel_centers: the centre of pixel i is at i + 0.5 instead of i."
    )
    return function


resize_bilinear = _operation("ResizeBilinear", "resize_bilinear", "means of the four nearest pixels, float32")
resize_bicubic = _operation("ResizeBicubic", "resize_bicubic", "cubic interpolation between 4 x 4 pixels, float32")
resize_nearest_neighbor = _operation("ResizeNearestNeighbor", "resize_nearest_neighbor", "the nearest pixel")


def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Images ``[batch, *size, channels]``: the mean of what a pixel covers, float32. Not differentiable.

    Args:
      align_corners: the corner pixels of both have the same centres.
    """
    inputs = [convert_to_tensor(images, name="images"), convert_to_tensor(size, int32, name="size")]
    return add_op("ResizeArea", inputs, {"align_corners": align_corners}, name)


_FIRST = {
    ResizeMethodV1.BILINEAR: resize_bilinear,
    ResizeMethodV1.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethodV1.BICUBIC: resize_bicubic,
    ResizeMethodV1.AREA: resize_area,
}
_FIRST_BY_NAME = {"bilinear": 0, "nearest": 1, "bicubic": 2, "area": 3}
_LATER: dict[str, Callable[..., Tensor]] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
}
_ANTIALIASED = {ResizeMethod.BILINEAR: "triangle", ResizeMethod.BICUBIC: "keyscubic"}
_KERNELS = (ResizeMethod.LANCZOS3, ResizeMethod.LANCZOS5, ResizeMethod.GAUSSIAN, ResizeMethod.MITCHELLCUBIC)


def resize_images(
    images: Any, size: Any, method: Any = ResizeMethodV1.BILINEAR, align_corners: bool = False,
    preserve_aspect_ratio: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Images in another size, by the rules of 1.x: the centre of pixel i is at i.

    Args:
      images: ``[height, width, channels]`` or ``[batch, height, width, channels]``.
      size: ``[height, width]``, int32.
      method: a ``ResizeMethod``.
      align_corners: the corner pixels of both have the same centres.
      preserve_aspect_ratio: make the image as large as fits into ``size``, undistorted.

    Returns:
      float32; of the type of ``images`` for the nearest pixel, and where the size is known to be the same.

    Raises:
      ValueError: another rank, size or method.
    """

    def resized(images: Tensor, size: Tensor) -> Tensor:
        function = _FIRST.get(_FIRST_BY_NAME.get(method, method))
        if function is None:
            raise ValueError(f"Resize method is not implemented: {method}.")
        return function(images, size, align_corners)

    return _resized(images, size, resized, preserve_aspect_ratio, name or "resize_images", keep=True)


def resize(
    images: Any, size: Any, method: Any = ResizeMethod.BILINEAR, preserve_aspect_ratio: bool = False,
    antialias: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Images in another size, by the rules of 2.x: the centre of pixel i is at i + 0.5.

    Args:
      images: ``[height, width, channels]`` or ``[batch, height, width, channels]``.
      size: ``[height, width]``, int32.
      method: a ``ResizeMethod``.
      preserve_aspect_ratio: make the image as large as fits into ``size``, undistorted.
      antialias: weigh all pixels that an output pixel covers, where the image is made smaller.

    Returns:
      float32; for the nearest pixel of the type of ``images``.

    Raises:
      ValueError: another rank, size or method.
    """

    def resized(images: Tensor, size: Tensor) -> Tensor:
        kernel = _ANTIALIASED.get(method) if antialias else None
        if kernel or method in _KERNELS:
            return add_op(
                "ScaleAndTranslate", [images, size], {"kernel_type": kernel or method, "antialias": antialias}
            )
        if method == ResizeMethod.AREA:
            return resize_area(images, size)
        if method not in _LATER:
            raise ValueError(f"Resize method is not implemented: {method}.")
        return _LATER[method](images, size, half_pixel_centers=True)

    return _resized(images, size, resized, preserve_aspect_ratio, name or "resize", keep=False)


def _resized(
    images: Any, size: Any, function: Callable[[Tensor, Tensor], Tensor], preserve: bool, name: str, keep: bool
) -> Tensor:
    """Images resized by a function of batches.

    Args:
      keep: images that have the size already are left alone.
    """
    with get_default_graph().name_scope(name):
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims is None:
            raise ValueError("'images' contains no shape.")
        images, is_batch = batched(images)
        wanted = _wanted(size)
        if preserve:
            wanted = _fitting(images, wanted)
        static = constant_value_as_dims(wanted) or (None, None)
        _check_positive(static)
        if keep and None not in static and images.dims is not None and images.dims[1:3] == static:
            return unbatched(images, is_batch)
        result = function(images, wanted)
        result.set_shape([None, *static, None])
        return unbatched(result, is_batch)


def _wanted(size: Any) -> Tensor:
    try:
        wanted = convert_to_tensor(size, int32, name="size")
    except (TypeError, ValueError) as error:
        raise ValueError("'size' must be a 1-D int32 Tensor") from error
    if not wanted.shape.is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return wanted


def _fitting(images: Tensor, size: Tensor) -> Tensor:
    """The largest size of the images' proportions within ``size``."""
    now = arithmetic.cast(arrays.shape(images)[1:3], float32)
    scale = arithmetic.cast(size, float32) / now
    return arithmetic.cast(arithmetic.round(arithmetic.minimum(scale[0], scale[1]) * now), int32)


def _with_pad(
    image: Any, height: Size, width: Size, kind: DType, function: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """An image in the middle of zeros, as large as fits in undistorted.

    Args:
      kind: the element type of the proportions.
    """
    with get_default_graph().name_scope("resize_image_with_pad"):
        images, is_batch = batched(image)
        checks = at_least_3d(images)
        checks += ensure(width > 0, "target_width must be > 0.")
        checks += ensure(height > 0, "target_height must be > 0.")
        images = with_dependencies(checks, images)
        now = arithmetic.cast(arrays.shape(images)[1:3], kind)
        target = arithmetic.cast(arrays.stack([height, width]), kind)
        ratio = arithmetic.maximum(now[0] / target[0], now[1] / target[1])
        exact = now / ratio
        margins = arithmetic.maximum(arithmetic.cast(arithmetic.floor((target - exact) / 2), int32), 0)
        resized = function(images, arithmetic.cast(arithmetic.floor(exact), int32))
        return unbatched(pad_to_bounding_box(resized, margins[0], margins[1], height, width), is_batch)


def resize_image_with_pad_v1(
    image: Any, target_height: Size, target_width: Size, method: Any = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
) -> Tensor:  # fmt: skip
    """An image ``[..., height, width, channels]`` in another size: undistorted, in the middle of zeros.

    Args:
      method, align_corners: see ``resize_images``.

    Raises:
      ValueError: a size that is not positive.
    """

    def resized(images: Tensor, size: Tensor) -> Tensor:
        return resize_images(images, size, method, align_corners)

    return _with_pad(image, target_height, target_width, float64, resized)


def resize_with_pad(
    image: Any, target_height: Size, target_width: Size, method: Any = ResizeMethod.BILINEAR, antialias: bool = False
) -> Tensor:
    """As ``resize_image_with_pad_v1``, by the rules of 2.x; see ``resize``."""

    def resized(images: Tensor, size: Tensor) -> Tensor:
        return resize(images, size, method, antialias=antialias)

    return _with_pad(image, target_height, target_width, float32, resized)
