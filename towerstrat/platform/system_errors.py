"""Errors of the operating system as those of ``tf.errors``. Source: ``tensorflow/core/platform/posix/error.cc``."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat import errors

_BY_ERRNO: dict[int, Any] = {
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
    """Errors of the operating system as those of ``tf.errors``; ``name`` is that of the file where they have none."""
    try:
        yield
    except OSError as error:
        missing = errno.ENOENT if isinstance(error, FileNotFoundError) else 0
        kind = _BY_ERRNO.get(error.errno or missing, errors.UnknownError)
        raise kind(None, None, f"{error.filename or name}; {error.strerror or error}") from None
