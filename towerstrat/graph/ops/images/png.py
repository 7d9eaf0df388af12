"""PNG on the host: decoding by Pillow (``pip install towerstrat[images]``), 16-bit samples and encoding by zlib.

Source: the PNG specification, https://www.w3.org/TR/png-3/.
"""

from __future__ import annotations

import importlib
import io
import struct
import zlib
from typing import Any

import numpy as np

from towerstrat.errors import ResourceExhaustedError, UnsupportedError
from towerstrat.graph.ir.types import HostArray

START = b"\x89PNG\r\n\x1a\n"
_SAMPLES = {0: 1, 2: 3, 4: 2, 6: 4}
"""Type of colour -> samples of a pixel: grey, colours, both with alpha."""
_COLORS = {samples: color for color, samples in _SAMPLES.items()}


class _Interlaced(ValueError):
    """An image of a kind that is not read."""


def pillow() -> Any:
    """The library. Raises UnsupportedError where it is not installed."""
    try:
        return importlib.import_module("PIL.Image")
    except ModuleNotFoundError:
        raise UnsupportedError(
            "PNG and GIF images need the package Pillow: pip install 'towerstrat[images]'."
        ) from None


def decode(contents: bytes, *, channels: int, dtype: Any) -> HostArray:
    """The pixels of a file, ``[height, width, channels]``.

    Args:
      channels: 0 for those of the file (those of a palette are colours), else 1 to 4.
      dtype: numpy's uint8 or uint16; samples of the other width are converted.

    Raises:
      ValueError: no PNG, or a damaged one.
    """
    try:
        width, height, depth, color, _, _, laced = struct.unpack(">IIBBBBB", contents[16:29])
        deep = depth == 16 and not laced
        pixels = _deep(contents, height, width, color) if deep else _shallow(contents, alpha=channels in (2, 4))
    except (UnsupportedError, _Interlaced):
        raise
    except MemoryError:
        raise ResourceExhaustedError(None, None, f"PNG data, size {len(contents)}, of too many pixels") from None
    except Exception as error:  # of many kinds, those for images that are too large too
        raise ValueError(f"Invalid PNG data, size {len(contents)}: {error}") from None
    pixels = _with_channels(pixels, channels or pixels.shape[-1], min((1 << depth) - 1, np.iinfo(pixels.dtype).max))
    if pixels.dtype == dtype:
        return pixels
    return (pixels >> 8).astype(np.uint8) if dtype == np.uint8 else pixels.astype(np.uint16) * np.uint16(257)


def _shallow(contents: bytes, alpha: bool) -> HostArray:
    """Pixels of up to 8 bits a sample; a colour that stands for transparency makes alpha if ``alpha`` is wanted."""
    with pillow().open(io.BytesIO(contents)) as image:
        if image.mode.startswith("I"):
            raise _Interlaced(
                "Interlaced PNG images of 16 bits a sample are not supported: save it without interlacing."
            )
        if "transparency" in image.info and (alpha or image.mode == "P"):
            image = image.convert("RGBA")
        elif image.mode == "P":
            image = image.convert("RGB")
        elif image.mode == "1":
            image = image.convert("L")
        pixels = np.array(image)
    return pixels if pixels.ndim == 3 else pixels[..., None]


def _with_channels(pixels: HostArray, count: int, opaque: int) -> HostArray:
    """Pixels with ``count`` channels: grey is repeated, colours are weighed, alpha is dropped or made ``opaque``."""
    has = pixels.shape[-1]
    if has == count:
        return pixels
    alpha = pixels[..., has - 1 :] if has % 2 == 0 else np.full((*pixels.shape[:-1], 1), opaque, pixels.dtype)
    shades = pixels[..., : has - 1 + has % 2]
    if count <= 2 and shades.shape[-1] == 3:
        shades = _grey(shades)
    elif count > 2 and shades.shape[-1] == 1:
        shades = np.repeat(shades, 3, axis=-1)
    return np.concatenate([shades, alpha], axis=-1) if count % 2 == 0 else np.ascontiguousarray(shades)


def _grey(pixels: HostArray) -> HostArray:
    """Grey of colours, with the weights in 1/32768 that TensorFlow gives to libpng, which rounds 16 bits only."""
    red, green = 9797, 19234
    weighed = pixels.astype(np.int64) @ np.array([red, green, 32768 - red - green])
    return (weighed + (16384 if pixels.dtype == np.uint16 else 0) >> 15)[..., None].astype(pixels.dtype)


def _deep(contents: bytes, height: int, width: int, color: int) -> HostArray:
    """Pixels of 16 bits a sample, which Pillow cuts to 8."""
    data, place = b"", 8
    while place + 8 <= len(contents):
        size, kind = struct.unpack(">I4s", contents[place : place + 8])
        if kind == b"IDAT":
            data += contents[place + 8 : place + 8 + size]
        place += 12 + size
    step = 2 * _SAMPLES[color]
    size = height * (1 + width * step)
    inflater = zlib.decompressobj()
    samples = np.frombuffer(inflater.decompress(data, size + 1), np.uint8)  # however much is in the file
    if samples.size != size or not inflater.eof:
        raise ValueError(f"expected {size} bytes of pixels")
    rows = samples.reshape(height, 1 + width * step)
    plain = np.zeros((height, width * step), np.uint8)
    above = np.zeros(width * step, np.uint8)
    for filter, row, line in zip(rows[:, 0], rows[:, 1:], plain, strict=True):
        line[:] = _unfiltered(int(filter), row, above, step)
        above = line
    return plain.view(">u2").astype(np.uint16).reshape(height, width, -1)


def _unfiltered(filter: int, row: HostArray, above: HostArray, step: int) -> HostArray:
    """A line of bytes from what was stored: differences to the byte to the left, above, or a guess of both."""
    if filter == 0:
        return row
    if filter == 1:
        return np.cumsum(row.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if filter == 2:
        return row + above
    line, before = [0] * step, [0] * step + above.tolist()
    for i, (value, up) in enumerate(zip(row.tolist(), above.tolist(), strict=True)):
        left = line[i]
        guess = (left + up) // 2 if filter == 3 else _nearest(left, up, before[i])
        line.append((value + guess) & 255)
    return np.array(line[step:], np.uint8)


def _nearest(left: int, up: int, corner: int) -> int:
    """Paeth's guess: which of the three is nearest to ``left + up - corner``."""
    return min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]


def encode(pixels: HostArray, *, compression: int) -> bytes:
    """A file with pixels uint8 or uint16 ``[height, width, 1 to 4]``.

    Args:
      compression: zlib's level, 0 to 9, or -1 for its default.
    """
    height, width, count = pixels.shape
    samples = pixels.astype(pixels.dtype.newbyteorder(">")).reshape(height, -1).view(np.uint8)
    rows = np.concatenate([np.full((height, 1), 2, np.uint8), np.diff(samples, axis=0, prepend=np.uint8(0))], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.dtype.itemsize, _COLORS[count], 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), compression)), (b"IEND", b""))
    return START + b"".join(_part(kind, data) for kind, data in parts)


def _part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
