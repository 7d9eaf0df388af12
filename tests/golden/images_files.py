"""Writes images_files.json: small image files of many kinds, by name, in base64."""

import base64
import io
import struct
import zlib

import numpy as np
from goldens import make
from PIL import Image

RUNS = ["own"]
NEEDS = "Pillow"
RANDOM = np.random.RandomState(1)
FILES = {}


def save(name, image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    FILES[name] = buffer.getvalue()


def smooth(height, width, channels):
    """Slopes with some noise, so that the smoothing of colours shows."""
    y, x = np.mgrid[0:height, 0:width]
    base = np.stack([x * 255 // (width - 1), y * 255 // (height - 1), (x + y) * 8 % 256, x * y % 256][:channels], -1)
    return np.clip(base + RANDOM.randint(-40, 40, base.shape), 0, 255).astype(np.uint8)


def jpegs():
    for sampling in (0, 1, 2):
        save(f"jpeg_{sampling}", Image.fromarray(smooth(13, 17, 3)), "JPEG", quality=80, subsampling=sampling)
    save("jpeg_grey", Image.fromarray(smooth(13, 17, 1)[..., 0]), "JPEG", quality=70)
    save("jpeg_cmyk", Image.fromarray(smooth(9, 11, 4), "CMYK"), "JPEG", quality=85)
    save("jpeg_progressive", Image.fromarray(smooth(20, 9, 3)), "JPEG", quality=60, progressive=True)
    FILES["jpeg_truncated"] = FILES["jpeg_2"][:-10]


def part(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw_png(rows, width, depth, color, filters=(0,)):
    """A PNG of bytes ``[height, bytes of a line]`` as they are, with filters in turn that nothing was made for."""
    lines = b"".join(bytes([filters[i % len(filters)]]) + row.tobytes() for i, row in enumerate(rows))
    header = struct.pack(">IIBBBBB", width, len(rows), depth, color, 0, 0, 0)
    parts = (part(b"IHDR", header), part(b"IDAT", zlib.compress(lines)), part(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def pngs():
    pixels = RANDOM.randint(0, 256, (5, 7, 4)).astype(np.uint8)
    pixels[..., 3] = np.where(RANDOM.rand(5, 7) < 0.3, 0, pixels[..., 3])
    for name, channels in (("grey", 0), ("grey_alpha", slice(0, 2)), ("rgb", slice(0, 3)), ("rgba", slice(0, 4))):
        save(f"png_{name}", Image.fromarray(pixels[..., channels]), "PNG")
    palette = Image.fromarray(pixels[..., :3]).quantize(6)
    save("png_palette", palette, "PNG")
    save("png_palette_alpha", palette, "PNG", transparency=b"\x10\x80\xff")
    save("png_bits", Image.fromarray(pixels[..., 0] > 128), "PNG")
    save("png_grey_key", Image.fromarray(pixels[..., 0]), "PNG", transparency=int(pixels[0, 0, 0]))
    for depth in (2, 4):
        FILES[f"png_grey_{depth}"] = raw_png(RANDOM.randint(0, 256, (5, depth)).astype(np.uint8), 8, depth, 0)
    for name, channels, color in (("grey", 1, 0), ("grey_alpha", 2, 4), ("rgb", 3, 2), ("rgba", 4, 6)):
        rows = RANDOM.randint(0, 256, (5, 3 * 2 * channels)).astype(np.uint8)
        FILES[f"png_{name}_16"] = raw_png(rows, 3, 16, color, (0, 1, 2, 3, 4))
    FILES["png_damaged"] = FILES["png_rgb"][:-40]


def others():
    frames = [Image.fromarray(RANDOM.randint(0, 256, (4, 5, 3)).astype(np.uint8)).quantize(8) for _ in range(3)]
    save("gif_still", frames[0], "GIF")
    save("gif_frames", frames[0], "GIF", save_all=True, append_images=frames[1:])
    plain = np.full((6, 8, 3), (10, 200, 30), np.uint8)
    spot = plain.copy()
    spot[2:4, 3:5] = (200, 10, 10)
    parts = [Image.fromarray(pixels).quantize(4) for pixels in (plain, spot, plain)]
    for disposal in (1, 2):
        save(f"gif_part_{disposal}", parts[0], "GIF", save_all=True, append_images=parts[1:], disposal=disposal)
    pixels = RANDOM.randint(0, 256, (5, 7, 4)).astype(np.uint8)
    for name, channels in (("grey", 0), ("rgb", slice(0, 3)), ("rgba", slice(0, 4))):
        save(f"bmp_{name}", Image.fromarray(pixels[..., channels]), "BMP")
    FILES["text"] = b"no image at all"
    FILES["empty"] = b""


jpegs()
pngs()
others()
make("images_files", {name: base64.b64encode(data).decode() for name, data in FILES.items()})
