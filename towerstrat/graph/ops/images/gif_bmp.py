"""Image files on the host: which format a file has, GIF, BMP, and what one operation does with the other formats."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from towerstrat.errors import ResourceExhaustedError
from towerstrat.graph.ir.types import DType, HostArray, uint8
from towerstrat.graph.ops.images import jpeg as jpeg_forms
from towerstrat.graph.ops.images import png
from towerstrat.graph.ops.text.string_kernels import filled

_GIF = b"GIF8"
_BMP_HEADER = 32


def _bytes(value: HostArray) -> bytes:
    """The string in a scalar array."""
    found: bytes = value.item()
    return found


def _unknown(contents: bytes) -> ValueError:
    if not contents:
        return ValueError("Expected image (JPEG, PNG, or GIF), got empty file")
    shown = "".join(chr(b) if 32 <= b < 127 else f"\\{b:03o}" for b in contents[:16])
    return ValueError(f"Expected image (JPEG, PNG, or GIF), got unknown format starting with '{shown}'")


def gif(contents: bytes) -> HostArray:
    """The frames of a file, uint8 ``[frames, height, width, 3]``, each with what stays of those before it.

    Raises:
      ValueError: a damaged file.
    """
    library = png.pillow()
    try:
        with library.open(io.BytesIO(contents)) as image:
            frames = []
            for number in range(image.n_frames):
                image.seek(number)
                frames.append(np.array(image.convert("RGB")))
        return np.stack(frames)
    except MemoryError:
        raise ResourceExhaustedError(None, None, f"GIF data, size {len(contents)}, of too many pixels") from None
    except Exception as error:  # of many kinds, those for images that are too large too
        raise ValueError(f"Invalid GIF data, size {len(contents)}: {error}") from None


def bmp(contents: bytes, channels: int) -> HostArray:
    """The pixels of an uncompressed file, uint8 ``[height, width, channels]``.

    Raises:
      ValueError: a damaged file, or ``channels`` is neither 0 nor the number of bytes of a pixel.
    """
    if len(contents) < _BMP_HEADER:
        raise ValueError(
            f"Incomplete bmp content, requires at least {_BMP_HEADER} bytes to find the header size, width, height, "
            f"and bpp, got {len(contents)} bytes"
        )
    start, width, height, bits = (
        *struct.unpack_from("<i", contents, 10),
        *struct.unpack_from("<ii", contents, 18),
        *struct.unpack_from("<h", contents, 28),
    )
    count = bits // 8
    if channels not in (0, count):
        raise ValueError(f"channels attribute {channels} does not match bits per pixel from file {count}")
    if count not in (1, 3, 4):
        raise ValueError(f"Number of channels must be 1, 3 or 4, was {count}")
    if width <= 0 or not height:
        raise ValueError("Width must be positive" if width <= 0 else "Height must be nonzero")
    line = (width * bits + 31) // 32 * 4
    rows = np.frombuffer(contents, np.uint8)[start : start + line * abs(height)]
    if rows.size < line * abs(height):
        raise ValueError(f"Incomplete bmp content, requires at least {start + line * abs(height)} bytes, got "
                         f"{len(contents)} bytes")  # fmt: skip
    pixels = rows.reshape(-1, line)[:, : width * count].reshape(-1, width, count)
    upright = pixels[::-1] if height > 0 else pixels
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[count]
    return np.ascontiguousarray(upright[..., order])


def _single_gif(contents: bytes, channels: int) -> HostArray:
    if channels not in (0, 3):
        raise ValueError(f"channels must be 0 or 3 for GIF, got {channels}")
    frames = gif(contents)
    if len(frames) > 1:
        raise ValueError(f"Got {len(frames)} frames, but animated gifs can only be decoded by tf.image.decode_gif or "
                         "tf.image.decode_image")  # fmt: skip
    return frames[0]


def decode(contents: HostArray, *, channels: int, dtype: DType, **jpeg: Any) -> HostArray:
    """The pixels of a JPEG, PNG, or GIF file of one frame."""
    data = _bytes(contents)
    if data.startswith(png.START):
        return png.decode(data, channels=channels, dtype=dtype.np)
    if data.startswith(jpeg_forms.START):
        if dtype.np != np.uint8:
            raise ValueError("JPEG does not support uint16 output")
        return jpeg_forms.decode(data, channels=channels, **jpeg)
    if data.startswith(_GIF):
        if dtype.np != np.uint8:
            raise ValueError("GIF does not support uint16 output")
        return _single_gif(data, channels)
    raise _unknown(data)


def decode_as_jpeg(contents: HostArray, *, channels: int, **jpeg: Any) -> HostArray:
    return decode(contents, channels=channels, dtype=uint8, **jpeg)


def decode_and_crop(contents: HostArray, window: HostArray, **options: Any) -> HostArray:
    """A window of a JPEG; a PNG or GIF whole, as TensorFlow has it."""
    data = _bytes(contents)
    if not data.startswith(jpeg_forms.START):
        return decode_as_jpeg(contents, **options)
    return jpeg_forms.crop(data, window, **options)


def decode_frames(contents: HostArray) -> HostArray:
    """The frames of a GIF; a JPEG or PNG is one frame."""
    data = _bytes(contents)
    if data.startswith(_GIF):
        return gif(data)
    if data.startswith(png.START):
        return png.decode(data, channels=3, dtype=np.uint8)[None]
    if data.startswith(jpeg_forms.START):
        return jpeg_forms.decode(data, channels=3)[None]
    raise _unknown(data)


def decode_bmp(contents: HostArray, *, channels: int) -> HostArray:
    return bmp(_bytes(contents), channels)


def decode_any(contents: HostArray, *, channels: int, dtype: DType, expand_animations: bool) -> HostArray:
    """The pixels of a file of any of the formats: as integers scaled to their range, as floats to [0, 1]."""
    data = _bytes(contents)
    if data.startswith(b"BM"):
        _check_channels("BMP", channels, (0, 3, 4))
        pixels = bmp(data, channels)
    elif data.startswith(_GIF):
        _check_channels("GIF", channels, (0, 3))
        pixels = gif(data)
        pixels = pixels if expand_animations else pixels[0]
    elif data.startswith(png.START):
        pixels = png.decode(data, channels=channels, dtype=np.uint8 if dtype.np == np.uint8 else np.uint16)
    elif data.startswith(jpeg_forms.START):
        _check_channels("JPEG", channels, (0, 1, 3))
        pixels = jpeg_forms.decode(data, channels=channels)
    else:
        raise ValueError("assertion failed: [Unable to decode bytes as JPEG, PNG, GIF, or BMP]")
    return _scaled(pixels, dtype)


def _check_channels(what: str, channels: int, allowed: tuple[int, ...]) -> None:
    if channels not in allowed:
        shown = ", ".join("None, 0" if c == 0 else str(c) for c in allowed if c != 4 or what != "BMP")
        raise ValueError(f"assertion failed: [Channels must be in ({shown}) when decoding {what} images]")


def _scaled(pixels: HostArray, dtype: DType) -> HostArray:
    """Unsigned pixels in another element type, by the rule of ``tf.image.convert_image_dtype``."""
    if pixels.dtype == dtype.np:
        return pixels
    top = int(np.iinfo(pixels.dtype).max)
    if dtype.is_floating:
        return pixels.astype(dtype.np) * np.asarray(1.0 / top, dtype.np)
    if top > dtype.max:
        return (pixels // ((top + 1) // (dtype.max + 1))).astype(dtype.np)
    return pixels.astype(dtype.np) * np.asarray((dtype.max + 1) // (top + 1), dtype.np)


def jpeg_shape(contents: HostArray, *, output_type: DType) -> HostArray:
    return np.array(jpeg_forms.shape(_bytes(contents)), output_type.np)


def encode_jpeg(pixels: HostArray, *, format: str, quality: int, chroma_downsampling: bool) -> HostArray:
    made = jpeg_forms.encode(pixels, format=format, quality=quality, chroma_downsampling=chroma_downsampling)
    return filled([made], ())


def encode_jpeg_of_quality(pixels: HostArray, quality: HostArray) -> HostArray:
    """As ``encode_jpeg``, with the quality as a value."""
    if not 0 <= int(quality) <= 100:
        raise ValueError(f"quality must be in [0,100], got {int(quality)}")
    return encode_jpeg(pixels, format="", quality=int(quality), chroma_downsampling=True)


def encode_png(pixels: HostArray, *, compression: int) -> HostArray:
    count = pixels.shape[-1]
    if not 1 <= count <= 4:
        raise ValueError(f"image must have 1, 2, 3, or 4 channels, got {list(pixels.shape)}")
    return filled([png.encode(pixels, compression=compression)], ())
