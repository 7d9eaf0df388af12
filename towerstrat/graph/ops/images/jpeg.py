"""JPEG on the host, by the binding ``simplejpeg`` of libjpeg-turbo (``pip install towerstrat[images]``).

Its fast integer transform with smooth upsampling of colours is what TensorFlow's own libjpeg-turbo does by default: the
pixels are equal to the last bit.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from towerstrat.errors import ResourceExhaustedError, UnsupportedError
from towerstrat.graph.ir.types import HostArray

START = b"\xff\xd8\xff"
_SPACES = {1: "GRAY", 3: "RGB"}
_LARGEST = 1 << 29
"""So many pixels are refused before memory is asked for, as TensorFlow does."""


def _library() -> Any:
    """The binding. Raises UnsupportedError where it is not installed."""
    try:
        return importlib.import_module("simplejpeg")
    except ModuleNotFoundError:
        raise UnsupportedError("JPEG images need the package simplejpeg: pip install 'towerstrat[images]'.") from None


def _header(contents: bytes, message: str) -> tuple[int, int, int]:
    """(height, width, channels) of a file. Raises ValueError with ``message`` where it has no readable header."""
    read = _library().decode_jpeg_header
    try:
        height, width, space, _ = read(contents, strict=False)
    except Exception:  # KeyError too, of a space of colours that the binding does not know
        raise ValueError(f"{message} {len(contents)}") from None
    if height * width >= _LARGEST:
        raise ValueError(f"Image too large: {height * width}")
    return height, width, {"Gray": 1, "CMYK": 4, "YCCK": 4}.get(space, 3)


def shape(contents: bytes) -> tuple[int, int, int]:
    """(height, width, channels) of a file.

    Raises:
      ValueError: it has no readable header.
    """
    if not contents.startswith(START):
        raise ValueError(f"Invalid JPEG data, size {len(contents)}")
    return _header(contents, "Invalid JPEG data, size")


def decode(
    contents: bytes, *, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "",
) -> HostArray:  # fmt: skip
    """The pixels of a file, uint8 ``[height, width, channels]``.

    Args:
      channels: 0 for those of the file (3 for CMYK), 1 or 3.
      ratio: the image is made smaller by 1, 2, 4 or 8 while it is decoded.
      try_recover_truncated: what is missing at the end of a file is grey; else such a file is an error.
      acceptable_fraction: how many of the lines must be there then. libjpeg gives all of them, grey ones too, so that
        none is ever missing, in TensorFlow as well.
      dct_method: ``"INTEGER_ACCURATE"`` for the slower transform; ``""`` and ``"INTEGER_FAST"`` for the fast one.

    Raises:
      ValueError: no JPEG, or a damaged one.
    """
    message = "Invalid JPEG data or crop window, data size"
    height, width, stored = _header(contents, message)
    if channels == 4:
        raise ValueError("channels must be 0, 1, or 3 for JPEG, got 4")
    if stored == 4 and channels == 1:
        raise ValueError(f"{message} {len(contents)}")
    least = (-(-height // ratio), -(-width // ratio)) if ratio > 1 else (0, 0)
    space = "CMYK" if stored == 4 else _SPACES[channels or stored]

    def decoded(strict: bool) -> HostArray:
        found: HostArray = _library().decode_jpeg(
            contents, space, fastdct=dct_method != "INTEGER_ACCURATE", fastupsample=not fancy_upscaling,
            min_height=least[0], min_width=least[1], min_factor=ratio, strict=strict,
        )  # fmt: skip
        return found

    try:
        pixels = decoded(strict=True)
    except MemoryError:
        raise ResourceExhaustedError(None, None, f"{message} {len(contents)}: {height} by {width} pixels") from None
    except Exception as error:
        if "Premature end" in str(error) and not try_recover_truncated:
            raise ValueError(f"{message} {len(contents)}") from None
        try:
            pixels = decoded(strict=False)  # libjpeg only warns of what is wrong here
        except Exception:
            raise ValueError(f"{message} {len(contents)}") from None
    return _without_black(pixels) if stored == 4 else pixels


def _without_black(pixels: HostArray) -> HostArray:
    """Red, green and blue of pixels with inverted cyan, magenta, yellow and black."""
    wide = pixels.astype(np.int32)
    return (wide[..., :3] * wide[..., 3:] // 255).astype(np.uint8)


def crop(contents: bytes, window: HostArray, **options: Any) -> HostArray:
    """A window ``[y, x, height, width]`` of the decoded pixels.

    Raises:
      ValueError: the window is empty or leaves the image.
    """
    y, x, height, width = (int(v) for v in window)
    pixels = decode(contents, **options)
    inside = y >= 0 and x >= 0 and height > 0 and width > 0
    if not inside or y + height > pixels.shape[0] or x + width > pixels.shape[1]:
        raise ValueError(f"Invalid JPEG data or crop window, data size {len(contents)}")
    return np.ascontiguousarray(pixels[y : y + height, x : x + width])


def encode(pixels: HostArray, *, format: str, quality: int, chroma_downsampling: bool) -> bytes:
    """A file with pixels uint8 ``[height, width, 1 or 3]``.

    Raises:
      ValueError: another number of channels, or not that of ``format``.
    """
    if pixels.ndim != 3 or pixels.shape[-1] not in _SPACES:
        raise ValueError(f"image must have 1 or 3 channels, got {list(pixels.shape)}".replace(" [", " ["))
    count = pixels.shape[-1]
    wanted = {"grayscale": 1, "rgb": 3}.get(format, count)
    if wanted != count:
        raise ValueError(f"format {format} expects {wanted} channels, got {list(pixels.shape)}")
    found: bytes = _library().encode_jpeg(
        np.ascontiguousarray(pixels), quality=max(quality, 1), colorspace=_SPACES[count],
        colorsubsampling="Gray" if count == 1 else "420" if chroma_downsampling else "444", fastdct=False,
    )  # fmt: skip
    return found
