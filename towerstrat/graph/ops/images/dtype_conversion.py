"""Element types of images: integers use their whole range, floats [0, 1]."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import as_dtype, float16, float32
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """An image in another element type, scaled from the range of the one to that of the other.

    Args:
      saturate: clip what the type cannot hold, such as floats beyond [0, 1].

    Raises:
      AttributeError: an element type that is neither integer nor floating.
    """
    image = convert_to_tensor(image, name="image")
    kind = as_dtype(dtype)
    for what, given in (("dtype", kind), ("image dtype", image.dtype)):
        if not (given.is_floating or given.is_integer):
            raise AttributeError(f"{what} must be either floating point or integer, got {given.name}")
    if kind is image.dtype:
        return arrays.identity(image, name=name)
    cast = arithmetic.saturate_cast if saturate else arithmetic.cast
    with get_default_graph().name_scope(name or "convert_image") as scope:
        if image.dtype.is_floating:
            return cast(image if kind.is_floating else arithmetic.multiply(image, kind.max + 0.5), kind, name=scope)
        if kind.is_floating:
            return arithmetic.multiply(arithmetic.cast(image, kind), 1.0 / image.dtype.max, name=scope)
        if image.dtype.max > kind.max:
            return cast(arithmetic.floordiv(image, (image.dtype.max + 1) // (kind.max + 1)), kind, name=scope)
        return arithmetic.multiply(cast(image, kind), (kind.max + 1) // (image.dtype.max + 1), name=scope)


def as_floats(image: Tensor) -> Tensor:
    """An image for arithmetic: floats of 16 and 32 bits as they are, others as float32."""
    return image if image.dtype in (float16, float32) else convert_image_dtype(image, float32)
