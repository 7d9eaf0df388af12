"""Allocator behavior of the process: reuse large freed blocks instead of getting zeroed pages from the system."""

from __future__ import annotations

import functools

import numpy as np

_LARGEST = 31 << 20
"""Bytes, below the 32 MiB from which glibc maps every block separately, whatever was freed before."""


@functools.cache
def keep_freed_memory() -> None:
    """Make glibc's allocator keep freed blocks of up to 31 MiB for reuse, for the rest of the process.

    Fresh memory comes from the kernel page by page, zeroed at the first touch, which takes longer than the arithmetic
    on an image. glibc maps blocks above a threshold separately and unmaps them when freed; the threshold is dynamic and
    grows to the largest mapped block freed so far (``M_MMAP_THRESHOLD`` in mallopt(3)), and the trim threshold to twice
    that. Freeing one large block therefore raises both. Other C libraries have rules of their own.
    """
    np.empty(_LARGEST, np.uint8)
