"""Every exception that towerstrat raises on purpose.

    Exception
    ├── OpError                       a run failed; names the operation and the user's line (``tf.errors``)
    │   ├── CancelledError            AbortedError            AlreadyExistsError
    │   ├── DataLossError             DeadlineExceededError   FailedPreconditionError
    │   ├── InternalError             InvalidArgumentError    NotFoundError
    │   ├── OutOfRangeError           PermissionDeniedError   ResourceExhaustedError
    │   └── UnauthenticatedError      UnavailableError        UnimplementedError   UnknownError
    ├── UnsupportedError              a documented limit (also a NotImplementedError)
    └── UnknownSymbolError            a public name of TensorFlow that is not here (also an AttributeError)

Mistakes found while a graph is being built are ``TypeError`` and ``ValueError``, as in the original.
"""

from __future__ import annotations

from typing import Any


class OpError(Exception):
    """A run failed. The arguments are the original's: ``(node_def, op, message)``.

    Attributes:
      op: the operation that failed, or None when it is not known.
      message: what happened, where the operation was created, and what to do.
      error_code: the original's integer code.
    """

    error_code = 2

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None):
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message
        if error_code is not None:
            self.error_code = error_code

    def __str__(self) -> str:
        if self.op is None:
            return self.message
        return f"{self.message}\n  operation: {self.op.name} (type {self.op.type})\n  created at: {self.op.created_at}"


class CancelledError(OpError):
    error_code = 1


class UnknownError(OpError):
    error_code = 2


class InvalidArgumentError(OpError):
    error_code = 3


class DeadlineExceededError(OpError):
    error_code = 4


class NotFoundError(OpError):
    error_code = 5


class AlreadyExistsError(OpError):
    error_code = 6


class PermissionDeniedError(OpError):
    error_code = 7


class ResourceExhaustedError(OpError):
    error_code = 8


class FailedPreconditionError(OpError):
    error_code = 9


class AbortedError(OpError):
    error_code = 10


class OutOfRangeError(OpError):
    error_code = 11


class UnimplementedError(OpError):
    error_code = 12


class InternalError(OpError):
    error_code = 13


class UnavailableError(OpError):
    error_code = 14


class DataLossError(OpError):
    error_code = 15


class UnauthenticatedError(OpError):
    error_code = 16


class UnsupportedError(NotImplementedError):
    """Something of the original that towerstrat does not do; the message names the nearest thing that works."""


class UnknownSymbolError(AttributeError, UnsupportedError):
    """A name of the original's public API that is not here. ``hasattr`` sees it as missing."""
