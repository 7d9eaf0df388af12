"""BMP files written by hand, byte by byte: their rows end at multiples of four bytes, and begin with the lowest."""

import struct

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

PIXELS = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


def bmp(pixels, upside_down):
    height, width, count = pixels.shape
    rows = pixels[..., [0] if count == 1 else [2, 1, 0, 3][:count]]
    rows = rows if upside_down else rows[::-1]
    line = (width * count + 3) // 4 * 4
    body = b"".join(row.tobytes().ljust(line, b"\0") for row in rows)
    info = struct.pack("<IiiHHIIiiII", 40, width, -height if upside_down else height, 1, 8 * count, *[0] * 6)
    return struct.pack("<2sIHHI", b"BM", 54 + len(body), 0, 0, 54) + info + body


@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize("upside_down", [False, True])
def test_a_file_has_its_pixels(count, upside_down):
    with tf.Session() as session:
        found = session.run(tf.image.decode_bmp(bmp(PIXELS[..., :count], upside_down)))
    np.testing.assert_array_equal(found, PIXELS[..., :count])
