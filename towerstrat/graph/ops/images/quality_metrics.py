"""Measures of images: total variation, gradients, and how near two images are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import float32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.array.padding import pad
from towerstrat.graph.ops.control.branches import with_dependencies
from towerstrat.graph.ops.host.runtime_checks import Assert
from towerstrat.graph.ops.images.dtype_conversion import convert_image_dtype
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.math.reductions import reduce_all, reduce_mean, reduce_prod, reduce_sum
from towerstrat.graph.ops.nn.activations import relu
from towerstrat.graph.ops.nn.convolution import depthwise_conv2d
from towerstrat.graph.ops.nn.pooling import avg_pool

_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""The weight of each scale, from Wang, Simoncelli and Bovik, "Multiscale structural similarity for image quality
assessment", Asilomar 2003."""


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of absolute differences of neighbouring pixels, for each image.

    Args:
      images: ``[height, width, channels]`` or ``[batch, height, width, channels]``.
    """
    with get_default_graph().name_scope(name or "total_variation"):
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        below = images[..., 1:, :, :] - images[..., :-1, :, :]
        beside = images[..., 1:, :] - images[..., :-1, :]
        axes = [-3, -2, -1]
        return reduce_sum(arithmetic.abs(below), axes) + reduce_sum(arithmetic.abs(beside), axes)


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """Differences to the next row and to the next column of ``[batch, height, width, channels]``; 0 in the last."""
    image = convert_to_tensor(image, name="image")
    if image.shape.ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    below = pad(image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    beside = pad(image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    below.set_shape(image.shape)
    beside.set_shape(image.shape)
    return below, beside


def sobel_edges(image: Any) -> Tensor:
    """Vertical and horizontal Sobel gradients ``[batch, height, width, channels, 2]`` of a batch of images."""
    image = convert_to_tensor(image, name="image")
    across = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    filters = np.stack([across, across.T], axis=-1)[:, :, None, :]
    sizes = arrays.shape(image)
    kernels = convert_to_tensor(filters.astype(image.dtype.np))
    kernels = arrays.tile(kernels, arrays.stack([1, 1, sizes[-1], 1]), name="sobel_filters")
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    edges = depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID")
    result = arrays.reshape(edges, arrays.concat([sizes, [2]], 0))
    result.set_shape(image.shape.concatenate([2]))
    return result


# ---- two images --------------------------------------------------------------------------------------------------


def _alike(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Two batches of images, checked to have one size and number of channels.

    Raises:
      ValueError: their known shapes differ; InvalidArgumentError where that is known when it runs.
    """
    a, b = convert_to_tensor(a, name="img1"), convert_to_tensor(b, name="img2")
    one, two = a.shape.with_rank_at_least(3), b.shape.with_rank_at_least(3)
    one[-3:].assert_is_compatible_with(two[-3:])
    if one.ndims is not None and two.ndims is not None:
        for first, second in zip(reversed(one.as_list()[:-3]), reversed(two.as_list()[:-3]), strict=False):
            if None not in (first, second) and first != second and 1 not in (first, second):
                raise ValueError(f"Two images are not compatible: {one} and {two}")
        if None not in (*one.as_list()[-3:], *two.as_list()[-3:]):
            return a, b
    sizes = arrays.shape_n([a, b])
    same = reduce_all(arithmetic.equal(sizes[0][-3:], sizes[1][-3:]))
    checks = [Assert(arithmetic.greater_equal(arrays.size(sizes[0]), 3), sizes, 10), Assert(same, sizes, 10)]
    return with_dependencies(checks, a), b


def _as_floats(a: Tensor, b: Tensor, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Two images and the largest value, float32 in one scale."""
    largest = convert_image_dtype(arithmetic.cast(max_val, a.dtype), float32)
    return convert_image_dtype(a, float32), convert_image_dtype(b, float32), largest


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio in decibel of images ``[..., height, width, channels]``: ``[...]``.

    Args:
      max_val: the largest possible value.
    """
    with get_default_graph().name_scope(name or "PSNR"):
        a, b, largest = _as_floats(*_alike(a, b), max_val)
        error = reduce_mean(arithmetic.squared_difference(a, b), [-3, -2, -1])
        ten = np.float32(np.log(10))
        return arithmetic.subtract(
            20 * arithmetic.log(largest) / ten, np.float32(10) / ten * arithmetic.log(error), name="psnr"
        )


def _window(size: int, sigma: float) -> np.ndarray[Any, Any]:
    """A Gaussian ``[size, size, 1, 1]`` that adds up to 1."""
    places = np.arange(size, dtype=np.float32) - (size - 1) / 2
    exponent = -0.5 * places**2 / sigma**2
    weights = np.exp(exponent[:, None] + exponent[None])
    return (weights / weights.sum()).astype(np.float32)[:, :, None, None]


def _compared(
    a: Tensor, b: Tensor, largest: Tensor, size: int = 11, sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03
) -> tuple[Tensor, Tensor]:
    """(structural similarity, its factor of contrast and structure) of each window and channel."""
    sizes = arrays.shape(a)
    space = a.dims[-3:-1] if a.dims is not None else (None,)
    if any(d is None or d < size for d in space):
        a = with_dependencies([Assert(reduce_all(arithmetic.greater_equal(sizes[-3:-1], size)), [sizes, size], 8)], a)
    window = arrays.tile(convert_to_tensor(_window(size, sigma)), arrays.stack([1, 1, sizes[-1], 1]))

    def mean(x: Tensor) -> Tensor:
        """Weighed means over windows ``[..., height, width, channels]``."""
        around = arrays.shape(x)
        flat = arrays.reshape(x, arrays.concat([[-1], around[-3:]], 0))
        found = depthwise_conv2d(flat, window, [1, 1, 1, 1], "VALID")
        return arrays.reshape(found, arrays.concat([around[:-3], arrays.shape(found)[1:]], 0))

    low, high = (k1 * largest) ** 2, (k2 * largest) ** 2
    mean_a, mean_b = mean(a), mean(b)
    product, squares = mean_a * mean_b * 2.0, arithmetic.square(mean_a) + arithmetic.square(mean_b)
    luminance = (product + low) / (squares + low)
    joint, each = mean(a * b) * 2.0, mean(arithmetic.square(a) + arithmetic.square(b))
    structure = (joint - product + high) / (each - squares + high)
    return luminance * structure, structure


def ssim(
    img1: Any, img2: Any, max_val: Any, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01,
    k2: float = 0.03, return_index_map: bool = False,
) -> Tensor:  # fmt: skip
    """The structural similarity of images ``[..., height, width, channels]``: ``[...]``, 1 where they are equal.

    Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity", IEEE
    Transactions on Image Processing 13 (2004).

    Args:
      max_val: the largest possible value.
      filter_size, filter_sigma: of the Gaussian window; images are at least as large.
      return_index_map: the similarity of each window, ``[..., height - size + 1, width - size + 1]``.
    """
    with get_default_graph().name_scope("SSIM"):
        a, b, largest = _as_floats(*_alike(img1, img2), max_val)
        similarity, _ = _compared(a, b, largest, filter_size, filter_sigma, k1, k2)
        if not return_index_map:
            similarity = reduce_mean(similarity, [-3, -2])
        return reduce_mean(similarity, [-1])


def ssim_multiscale(
    img1: Any, img2: Any, max_val: Any, power_factors: Sequence[float] = _SCALES, filter_size: int = 11,
    filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
) -> Tensor:  # fmt: skip
    """As ``ssim``, over images that are made half as large several times.

    Args:
      power_factors: the weight of each scale.
    """
    with get_default_graph().name_scope("MS-SSIM"):
        a, b, largest = _as_floats(*_alike(img1, img2), max_val)
        found = []
        for scale in range(len(power_factors)):
            with get_default_graph().name_scope(f"Scale{scale}"):
                if scale:
                    a, b = _halved(a), _halved(b)
                similarity, structure = _compared(a, b, largest, filter_size, filter_sigma, k1, k2)
                last = scale == len(power_factors) - 1
                found.append(relu(reduce_mean(similarity if last else structure, [-3, -2])))
        weighed = arithmetic.pow(arrays.stack(found, axis=-1), convert_to_tensor(power_factors, float32))
        return reduce_mean(reduce_prod(weighed, [-1]), [-1])


def _halved(x: Tensor) -> Tensor:
    """Images with means of 2 x 2 pixels as pixels; odd rows and columns are doubled at the end."""
    sizes = arrays.shape(x)
    flat = arrays.reshape(x, arrays.concat([[-1], sizes[-3:]], 0))
    odd = sizes[-3:-1] % 2
    padded = pad(flat, arrays.stack([[0, 0], [0, odd[0]], [0, odd[1]], [0, 0]]), "SYMMETRIC")
    smaller = avg_pool(padded, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return arrays.reshape(smaller, arrays.concat([sizes[:-3], arrays.shape(smaller)[1:]], 0))
