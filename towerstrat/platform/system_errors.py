"""Translate ``OSError`` to ``tf.errors``, by errno: programs catch NotFoundError where Python has FileNotFoundError.

    >>> with translated("data"):
    ...     open("/nowhere/data")
    Traceback (most recent call last):
    towerstrat.errors.NotFoundError: /nowhere/data; No such file or directory

Source: ``tensorflow/core/platform/posix/error.cc``. Values of errno that are not in the table
become UnknownError.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from towerstrat import errors

_BY_ERRNO: dict[int, Callable[[None, None, str], errors.OpError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.ENODEV: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EBUSY: errors.FailedPreconditionError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.ENFILE: errors.ResourceExhaustedError,
    errno.ENOMEM: errors.ResourceExhaustedError,
    errno.EFBIG: errors.OutOfRangeError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.ESTALE: errors.AbortedError,
}


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Raise an ``OSError`` of the block as its ``tf.errors`` class. ``name``: of the file, where the error has none."""
    try:
        yield
    except OSError as error:
        missing = errno.ENOENT if isinstance(error, FileNotFoundError) else 0
        kind = _BY_ERRNO.get(error.errno or missing, errors.UnknownError)
        raise kind(None, None, f"{error.filename or name}; {error.strerror or error}") from None
