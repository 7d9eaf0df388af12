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

Mistakes found while a graph is being built are ``TypeError`` and ``ValueError``, as in the original. Programs catch by
class and by code, both of TensorFlow:

    >>> error = NotFoundError(None, None, "no such file")            # node_def, op, message
    >>> error.error_code, str(error), isinstance(error, OpError)
    (5, 'no such file', True)

Errors cross processes (workers, pools), so that they must survive pickle and copy. The operation belongs to a graph of
this process and is left behind; its name, type and line become part of the message.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Protocol, Self, TypeVar

OpErrorT = TypeVar("OpErrorT", bound="OpError")


class FailedOperation(Protocol):
    """The part of an operation that messages show."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def created_at(self) -> str: ...


class OpError(Exception):
    """Base class of errors of a run, with TensorFlow's arguments: ``(node_def, op, message)``.

    Attributes:
      node_def: the operation's NodeDef, if the caller passed one.
      op: the operation that failed, or None where it is not known.
      message: what happened and what to do; ``str`` adds the operation and where it was created.
      error_code: TensorFlow's integer code.
    """

    def __init__(self, node_def: Any, op: FailedOperation | None, message: str, error_code: int):
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = error_code

    def __str__(self) -> str:
        if self.op is None:
            return self.message
        return f"{self.message}\n  operation: {self.op.name} (type {self.op.type})\n  created at: {self.op.created_at}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the operation, which belongs to a graph of this process; its text goes into the message."""
        return _without_call, (type(self), self.args), {**self.__dict__, "op": None, "message": str(self)}

    def __copy__(self) -> Self:
        copied = _without_call(type(self), self.args)
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return copy.copy(self)


def _without_call(kind: type[OpErrorT], arguments: tuple[Any, ...]) -> OpErrorT:
    """Make an error without calling ``__init__``, whose arguments may differ in subclasses of programs."""
    return kind.__new__(kind, *arguments)


class _Coded(OpError):
    """Error with a fixed code per class; 2.x programs may pass the code as a fourth argument, which is ignored."""

    code = 0

    def __init__(self, node_def: Any, op: FailedOperation | None, message: str, *args: Any):
        super().__init__(node_def, op, message, self.code)


class CancelledError(_Coded):
    code = 1


class UnknownError(OpError):
    def __init__(self, node_def: Any, op: FailedOperation | None, message: str, error_code: int = 2):
        super().__init__(node_def, op, message, error_code)


class InvalidArgumentError(_Coded):
    code = 3


class DeadlineExceededError(_Coded):
    code = 4


class NotFoundError(_Coded):
    code = 5


class AlreadyExistsError(_Coded):
    code = 6


class PermissionDeniedError(_Coded):
    code = 7


class ResourceExhaustedError(_Coded):
    code = 8


class FailedPreconditionError(_Coded):
    code = 9


class AbortedError(_Coded):
    code = 10


class OutOfRangeError(_Coded):
    code = 11


class UnimplementedError(_Coded):
    code = 12


class InternalError(_Coded):
    code = 13


class UnavailableError(_Coded):
    code = 14


class DataLossError(_Coded):
    code = 15


class UnauthenticatedError(_Coded):
    code = 16


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor was used as a Python bool, or iterated over."""


class EagerArgumentError(InvalidArgumentError, ValueError):
    """Invalid arguments of an operation, found when it is called. Shown as ``InvalidArgumentError``.

    Programs catch ``tf.errors.InvalidArgumentError`` where they run eagerly and ``ValueError`` where they build graphs;
    this is both.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle would look the class up by its shown name and find InvalidArgumentError itself.
        _, (_, arguments), state = super().__reduce__()
        return _argument_error, (arguments,), state


def _argument_error(arguments: tuple[Any, ...]) -> EagerArgumentError:
    return EagerArgumentError.__new__(EagerArgumentError, *arguments)


# Tracebacks show TensorFlow's name.
EagerArgumentError.__name__ = EagerArgumentError.__qualname__ = "InvalidArgumentError"


class UnsupportedError(NotImplementedError):
    """A feature of TensorFlow that towerstrat does not have; the message names the nearest thing that works."""


class UnknownSymbolError(AttributeError, UnsupportedError):
    """A name of TensorFlow's public API that towerstrat does not have; ``hasattr`` returns False for it."""
