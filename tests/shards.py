"""Parts of all tests, for machines that have no time for all of them at once."""

from __future__ import annotations

import argparse
import re
import zlib
from typing import NamedTuple


class Shard(NamedTuple):
    """The ``index``-th of ``count`` parts, from 1; which tests it has depends on their names alone."""

    index: int
    count: int

    def has(self, name: str) -> bool:
        """Whether a test is of this part."""
        return zlib.crc32(name.encode(errors="surrogatepass")) % self.count == self.index - 1


def shard(text: str) -> Shard:
    """A part as it is written in an option: ``3/8``. Raises argparse.ArgumentTypeError where there is no such part."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"expected K/N with K from 1 to N, such as 3/8; got {text!r}")
    return Shard(int(found[1]), int(found[2]))
