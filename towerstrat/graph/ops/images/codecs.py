"""Decoding and encoding image files: operation types that the host computes, and the functions that make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.errors import EagerArgumentError, UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, as_dtype, int32, int64, string, uint8, uint16
from towerstrat.graph.ops.building.op_builder import add_op
from towerstrat.graph.ops.images import gif_bmp
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.ops.text import strings

Inputs = Sequence[Tensor]


def _contents(inputs: Inputs) -> None:
    """Raises TypeError or ValueError unless the first input is one string."""
    contents = inputs[0]
    if contents.dtype is not string:
        raise TypeError(f"Expected the bytes of an image file as a string, got {contents.dtype.name}.")
    if contents.dims not in (None, ()):
        raise ValueError(f"Shape must be rank 0: expected the bytes of one image file, got shape {contents.shape}. Use "
                         "tf.map_fn for several.")  # fmt: skip


def _pixels_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _contents(inputs)
    channels = attrs["channels"]
    if channels not in (0, 1, 3, 4):
        raise ValueError(f"channels must be 0, 1, 3, or 4, got {channels}")
    return [Signature(attrs.get("dtype", uint8), (None, None, channels or None))]


def _jpeg_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if attrs["ratio"] not in (1, 2, 4, 8):
        raise ValueError(f"ratio must be 1, 2, 4, or 8, got {attrs['ratio']}")
    if attrs["dct_method"] not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise ValueError("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")
    return _pixels_rule(inputs, attrs)


def _crop_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    if not TensorShape(inputs[1].dims).is_compatible_with([4]):
        raise ValueError(f"crop_window must have four elements, got shape {inputs[1].shape}.")
    return _jpeg_rule(inputs, attrs)


def _frames_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _contents(inputs)
    return [Signature(uint8, (None, None, None, 3))]


def _any_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _contents(inputs)
    still = not attrs["expand_animations"]
    return [Signature(attrs["dtype"], (None, None, attrs["channels"] or None) if still else None)]


def _shape_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    _contents(inputs)
    return [Signature(attrs["output_type"], (3,))]


def _encoded_rule(inputs: Inputs, attrs: Attrs) -> list[Signature]:
    image = inputs[0]
    if image.dims is not None and len(image.dims) != 3:
        raise ValueError(f"Shape must be rank 3 but is rank {len(image.dims)}: expected one image, got {image.shape}.")
    return [Signature(string, ())]


define_op("DecodeJpeg", _jpeg_rule, numpy=gif_bmp.decode_as_jpeg, differentiable=False)
define_op("DecodeAndCropJpeg", _crop_rule, numpy=gif_bmp.decode_and_crop, differentiable=False)
define_op("DecodePng", _pixels_rule, numpy=gif_bmp.decode, differentiable=False)
define_op("DecodeBmp", _pixels_rule, numpy=gif_bmp.decode_bmp, differentiable=False)
define_op("DecodeGif", _frames_rule, numpy=gif_bmp.decode_frames, differentiable=False)
define_op("DecodeImage", _any_rule, numpy=gif_bmp.decode_any, differentiable=False)
define_op("ExtractJpegShape", _shape_rule, numpy=gif_bmp.jpeg_shape, differentiable=False)
define_op("EncodeJpeg", _encoded_rule, numpy=gif_bmp.encode_jpeg, differentiable=False)
define_op("EncodeJpegVariableQuality", _encoded_rule, numpy=gif_bmp.encode_jpeg_of_quality, differentiable=False)
define_op("EncodePng", _encoded_rule, numpy=gif_bmp.encode_png, differentiable=False)


def _file(contents: Any) -> Tensor:
    return convert_to_tensor(contents, string, name="contents")


def decode_jpeg(
    contents: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The pixels of a JPEG (or PNG, or GIF of one frame): uint8 ``[height, width, channels]``.

    Args:
      contents: the bytes of the file, a scalar string.
      channels: 0 for those of the file, 1 (grey) or 3.
      ratio: 2, 4 or 8 make the image that much smaller while it is decoded.
      fancy_upscaling: smooth the colours where the file has fewer of them than of brightness.
      try_recover_truncated: take a file whose end is missing; the rest of the image is grey.
      acceptable_fraction: which part of the lines must be there; libjpeg always gives all.
      dct_method: ``"INTEGER_FAST"`` (also the default), or ``"INTEGER_ACCURATE"``.

    Raises:
      InvalidArgumentError: when it runs, on damaged files.
    """
    attrs = {
        "channels": channels or 0, "ratio": ratio, "fancy_upscaling": fancy_upscaling,
        "try_recover_truncated": try_recover_truncated, "acceptable_fraction": acceptable_fraction,
        "dct_method": dct_method,
    }  # fmt: skip
    return add_op("DecodeJpeg", [_file(contents)], attrs, name)


def decode_and_crop_jpeg(
    contents: Any, crop_window: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """A window of the pixels of a JPEG; see ``decode_jpeg``.

    Args:
      crop_window: ``[y, x, height, width]``, int32; in pixels after ``ratio``.
    """
    attrs = {
        "channels": channels or 0, "ratio": ratio, "fancy_upscaling": fancy_upscaling,
        "try_recover_truncated": try_recover_truncated, "acceptable_fraction": acceptable_fraction,
        "dct_method": dct_method,
    }  # fmt: skip
    window = convert_to_tensor(crop_window, int32, name="crop_window")
    return add_op("DecodeAndCropJpeg", [_file(contents), window], attrs, name)


def decode_png(contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None) -> Tensor:
    """The pixels of a PNG (or JPEG, or GIF of one frame): ``[height, width, channels]``.

    Args:
      channels: 0 for those of the file, 1 (grey), 3 or 4 (with alpha).
      dtype: uint8 or uint16.
    """
    kind = as_dtype(dtype)
    if kind not in (uint8, uint16):
        raise TypeError(f"Expected dtype uint8 or uint16, got {kind.name}.")
    return add_op("DecodePng", [_file(contents)], {"channels": channels or 0, "dtype": kind}, name)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """The frames of a GIF: uint8 ``[frames, height, width, 3]``. A JPEG or PNG is one frame."""
    return add_op("DecodeGif", [_file(contents)], None, name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of an uncompressed BMP: uint8 ``[height, width, channels]``."""
    return add_op("DecodeBmp", [_file(contents)], {"channels": channels or 0}, name)


def decode_image(
    contents: Any, channels: int | None = None, dtype: Any = uint8, name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:  # fmt: skip
    """The pixels of a BMP, GIF, JPEG or PNG file: ``[height, width, channels]``, of a GIF with its frames in front.

    Args:
      dtype: integers are scaled to its range, floats to [0, 1].
      expand_animations: False for the first frame of a GIF only.

    Raises:
      ValueError: another number of channels than None, 0, 1, 3 or 4.
      InvalidArgumentError: when it runs: the file has none of the formats, or cannot have so many channels.
    """
    if channels not in (None, 0, 1, 3, 4):
        raise ValueError("channels must be in (None, 0, 1, 3, 4)")
    attrs = {"channels": channels or 0, "dtype": as_dtype(dtype), "expand_animations": expand_animations}
    return add_op("DecodeImage", [_file(contents)], attrs, name or "decode_image")


def extract_jpeg_shape(contents: Any, output_type: Any = int32, name: str | None = None) -> Tensor:
    """``[height, width, channels]`` of a JPEG, read from its header alone.

    Args:
      output_type: int32 or int64.
    """
    kind = as_dtype(output_type)
    if kind not in (int32, int64):
        raise TypeError(f"Expected output_type int32 or int64, got {kind.name}.")
    return add_op("ExtractJpegShape", [_file(contents)], {"output_type": kind}, name)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a string begins as JPEG files do."""
    with get_default_graph().name_scope(name or "is_jpeg") as scope:
        return arithmetic.equal(strings.substr(contents, 0, 3), b"\xff\xd8\xff", name=scope)


def encode_jpeg(
    image: Any, format: str = "", quality: int = 95, progressive: bool = False, optimize_size: bool = False,
    chroma_downsampling: bool = True, density_unit: str = "in", x_density: int = 300, y_density: int = 300,
    xmp_metadata: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The bytes of a JPEG with an image uint8 ``[height, width, 1 or 3]``.

    Args:
      format: ``"grayscale"``, ``"rgb"``, or ``""`` for what the channels say.
      quality: 0 to 100.
      chroma_downsampling: store colours with half of the lines and columns.

    Raises:
      UnsupportedError: progressive files, Huffman tables of their own, another density than 300 dots per inch, XMP.
    """
    for what, given, plain in (
        ("progressive", progressive, False), ("optimize_size", optimize_size, False), ("x_density", x_density, 300),
        ("y_density", y_density, 300), ("density_unit", density_unit, "in"), ("xmp_metadata", xmp_metadata, ""),
    ):  # fmt: skip
        if given != plain:
            raise UnsupportedError(f"tf.image.encode_jpeg writes files with {what}={plain!r} only, got {given!r}.")
    if format not in ("", "grayscale", "rgb"):
        raise EagerArgumentError(None, None, f"Expected format '', 'grayscale' or 'rgb', got {format!r}.")
    if not 0 <= quality <= 100:
        raise EagerArgumentError(None, None, f"quality must be in [0,100], got {quality}")
    attrs = {"format": format, "quality": int(quality), "chroma_downsampling": chroma_downsampling}
    return add_op("EncodeJpeg", [_pixels(image, (uint8,))], attrs, name)


def encode_jpeg_variable_quality(image: Any, quality: Any, name: str | None = None) -> Tensor:
    """As ``encode_jpeg``, with the quality as a tensor."""
    inputs = [_pixels(image, (uint8,)), convert_to_tensor(quality, int32, name="quality")]
    return add_op("EncodeJpegVariableQuality", inputs, None, name)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """The bytes of a PNG with an image uint8 or uint16 ``[height, width, 1 to 4]``.

    Args:
      compression: zlib's level, 0 to 9; -1 for its default.
    """
    if not -1 <= compression <= 9:
        raise EagerArgumentError(None, None, f"compression should be in [-1,9], got {compression}")
    return add_op("EncodePng", [_pixels(image, (uint8, uint16))], {"compression": int(compression)}, name)


def _pixels(image: Any, dtypes: Sequence[DType]) -> Tensor:
    """An image as a tensor; Python numbers become ``dtypes[0]``. Raises TypeError for others than ``dtypes``."""
    pixels = convert_to_tensor(image, None if hasattr(image, "dtype") else dtypes[0], name="image")
    if pixels.dtype not in dtypes:
        raise TypeError(f"Expected an image of {' or '.join(d.name for d in dtypes)}, got {pixels.dtype.name}. Use "
                        "tf.image.convert_image_dtype.")  # fmt: skip
    return pixels
