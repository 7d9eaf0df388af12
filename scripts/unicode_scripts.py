"""Writes the scripts of all code points as an original knows them: ``towerstrat/graph/ops/ragged/scripts.txt.xz``.

Run it with a Python that has TensorFlow 2.15 (``$(scripts/oracle --later)``). Lines are the first code point of a run
and the number of its script, as International Components for Unicode number them; the numbers are hexadecimal, the
first one the distance from the run before.
"""

import lzma
import pathlib

import numpy as np
import tensorflow as tf

LAST = 0x10FFFF


def main() -> None:
    codes = tf.strings.unicode_script(np.arange(LAST + 1, dtype=np.int32)).numpy()
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()]
    lines = [f"{start - before:x} {codes[start]:x}" for before, start in zip([0, *starts], starts, strict=False)]
    path = pathlib.Path(__file__).parents[1] / "towerstrat/graph/ops/ragged/scripts.txt.xz"
    path.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(lines)} runs, {path.stat().st_size} bytes")


main()
