"""Memory of the process."""

from __future__ import annotations

import functools

import numpy as np

_LARGEST = 31 << 20
"""Bytes; from 32 MiB on the C library returns each block by itself, whatever was freed before."""


@functools.cache
def keep_freed_memory() -> None:
    """Lets the process keep some memory that large arrays leave, for the next ones, for as long as it lives.

    The system hands memory out page by page, each filled with zeros, which takes longer than the arithmetic on an
    image. glibc returns blocks to it that are larger than any it has freed before (``M_MMAP_THRESHOLD`` in mallopt(3)),
    and what lies unused at the end beyond twice that size: so one large block is freed here. Other C libraries have
    bounds of their own.
    """
    np.empty(_LARGEST, np.uint8)
