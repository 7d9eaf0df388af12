"""Messages between processes: JSON that is read by a schema. Reading one runs no code, unlike unpickling.

A schema is a type: ``int``, ``float``, ``str``, ``bool``, ``bytes``, ``None``, ``BaseException``, ``tuple[...]``,
``dict[str, ...]``, a ``NamedTuple`` with fields of these, or a union. ``NamedTuple`` becomes an object with its class's
name as "kind"; a tuple becomes a list; bytes become base64. The reader names the schema; anything else is refused.

>>> encode(RemoteOperation("loss", "Sum", "train.py:17"))
b'{"kind": "RemoteOperation", "name": "loss", "type": "Sum", "created_at": "train.py:17"}'
>>> decode(encode((3, "stepping")), tuple[int, str])
(3, 'stepping')
>>> decode(b'["3", "stepping"]', tuple[int, str])
Traceback (most recent call last):
towerstrat.hosts.messages.MalformedMessage: Expected int, got "3".

An exception travels as the name of its class, of a closed table (Python's own and those of ``towerstrat.errors``), with
its arguments, or message, operation and code. For a class that is not in the table stands its nearest base that is, or
``UnknownError`` where that is only ``Exception``.

>>> decode(encode(FileNotFoundError(2, "No such file", "part-0017")), BaseException)
FileNotFoundError(2, 'No such file')
"""

from __future__ import annotations

import base64
import builtins
import functools
import json
import types
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeGuard, Union, get_args, get_origin, get_type_hints

from towerstrat import errors
from towerstrat.errors import OpError, UnknownError
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform.error_text import error_text

_KIND = "kind"
_NUMBERS = range(-(1 << 63), 1 << 64)
_SHOWN = 80
"""Characters of a malformed message that the error shows."""
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What the module ``json`` reads and writes."""
Schema: TypeAlias = "type[Any] | types.UnionType | types.GenericAlias | types.EllipsisType | None"
"""The type of a message, of its parts and of what it may be instead."""


class MalformedMessage(ValueError):
    """Bytes that do not encode a value of the schema."""


class RemoteOperation(NamedTuple):
    """The operation named in an error of another process, which has the graph that it is in.

    Attributes:
      name: of the operation. type: its type, such as "MatMul". created_at: the line of the program that made it.
    """

    name: str
    type: str
    created_at: str


class _RunError(NamedTuple):
    """Encoding of an ``OpError``; ``name`` is that of its class."""

    name: str
    message: str
    operation: RemoteOperation | None
    code: int


class _PythonError(NamedTuple):
    """Encoding of another exception: the name of its class, and the arguments to construct it with."""

    name: str
    arguments: tuple[bool | int | float | str | None, ...]


def _classes(module: types.ModuleType) -> dict[str, type[BaseException]]:
    """The public exception classes of a module that can be constructed from a text, by name."""
    public = {name: value for name, value in vars(module).items() if isinstance(value, type) and name[0] != "_"}
    return {
        name: value
        for name, value in public.items()
        if issubclass(value, BaseException) and not issubclass(value, _NOT_OF_A_TEXT)
    }


_NOT_OF_A_TEXT = (UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError, BaseExceptionGroup)
"""Classes that cannot be constructed from a text alone."""
_WIDE = (Exception, BaseException)
"""Bases that say nothing about a subclass: an error of one travels as ``UnknownError`` with its text."""
_ERRORS: Mapping[str, type[BaseException]] = _classes(builtins) | _classes(errors)
"""The closed table of exception classes that a message can hold, by name."""
_NAMES = {kind: name for name, kind in _ERRORS.items()}


def encode(message: object) -> bytes:
    """Encodes a message.

    Raises:
      TypeError: a value in it is of a type that no schema has.
    """
    return json.dumps(_plain(message)).encode()


def decode(data: bytes, schema: Schema) -> Any:
    """Decodes a message.

    Args:
      data: bytes that ``encode`` returned, perhaps in another process.
      schema: the type of the message.

    Raises:
      MalformedMessage: the bytes are no JSON, or the value is not of the schema.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise MalformedMessage(f"Expected JSON, got {bytes(data[:_SHOWN])!r}.") from None
    return _read(value, schema)


def _plain(value: object) -> Json:
    """A message as what ``json`` can write."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, BaseException):
        return _plain(_encode_error(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {_KIND: type(value).__name__, **{name: _plain(getattr(value, name)) for name in value._fields}}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    raise TypeError(f"Expected what a message can hold, got a value of type {type(value).__name__}.")


def _read(value: Json, schema: Schema) -> Any:
    """Checks what ``json`` has read against a schema, and constructs the message of it."""
    origin, arguments = get_origin(schema), get_args(schema)
    if origin in (Union, types.UnionType):
        return _read_first(value, schema, arguments)
    if schema is BaseException:
        return _construct_error(_read(value, _RunError | _PythonError))
    if _is_record(schema):
        return _read_record(value, schema)
    if origin is tuple:
        return _read_sequence(value, schema, arguments)
    if origin is dict and type(value) is dict:
        return {key: _read(each, arguments[1]) for key, each in value.items()}
    if schema is bytes and type(value) is str:
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            _refuse(value, schema)
    if schema is float and type(value) is int and value in _NUMBERS:
        return float(value)
    if (schema is None and value is None) or (type(value) is schema and (schema is not int or value in _NUMBERS)):
        return value
    return _refuse(value, schema)


def _read_first(value: Json, schema: Schema, alternatives: tuple[Schema, ...]) -> Any:
    for each in alternatives:
        try:
            return _read(value, None if each is types.NoneType else each)
        except MalformedMessage:
            continue
    return _refuse(value, schema)


def _read_record(value: Json, schema: Any) -> Any:
    fields = _fields(schema)
    if type(value) is not dict or value.get(_KIND) != schema.__name__ or value.keys() != {_KIND, *fields}:
        _refuse(value, schema)
    return schema(**{name: _read(value[name], kind) for name, kind in fields.items()})


def _read_sequence(value: Json, schema: Schema, kinds: tuple[Schema, ...]) -> Any:
    if type(value) is not list:
        _refuse(value, schema)
    if kinds[-1] is ...:
        return tuple(_read(each, kinds[0]) for each in value)
    if len(value) != len(kinds):
        _refuse(value, schema)
    return tuple(_read(each, kind) for each, kind in zip(value, kinds, strict=True))


@functools.cache
def _fields(schema: Any) -> Mapping[str, Schema]:
    return get_type_hints(schema)


def _is_record(schema: Schema) -> TypeGuard[type[Any]]:
    return isinstance(schema, type) and issubclass(schema, tuple) and hasattr(schema, "_fields")


def _refuse(value: Json, schema: Schema) -> NoReturn:
    text = json.dumps(value)[:_SHOWN]
    raise MalformedMessage(f"Expected {getattr(schema, '__name__', schema)}, got {text}.")


def _encode_error(error: BaseException) -> _RunError | _PythonError:
    """The encoding of an exception by the nearest class in the table."""
    kind = next(each for each in type(error).__mro__ if each in _NAMES)
    if isinstance(error, OpError):
        op = error.op
        operation = None if op is None else RemoteOperation(str(op.name), str(op.type), str(op.created_at))
        return _RunError(_NAMES[kind], str(error.message), operation, int(error.error_code))
    text = error_text(error)
    if type(error) is not kind and kind not in _WIDE:
        return _PythonError(_NAMES[kind], (text,))
    arguments = error.args
    if isinstance(error, OSError) and error.filename is not None:
        arguments = (*arguments, error.filename)
    if type(error) is kind and all(map(_is_simple, arguments)):
        return _PythonError(_NAMES[kind], arguments)
    unknown = UnknownError(None, None, f"Process {PROCESSES.index} has raised {text}")
    return _RunError("UnknownError", unknown.message, None, unknown.error_code)


def _is_simple(value: object) -> bool:
    if isinstance(value, int):
        return value in _NUMBERS
    return value is None or isinstance(value, float | str)


def _construct_error(encoding: _RunError | _PythonError) -> BaseException:
    """Constructs the exception of an encoding. Raises MalformedMessage where class or arguments do not fit."""
    kind: Any = _ERRORS.get(encoding.name)
    try:
        if isinstance(encoding, _PythonError):
            if kind is None or issubclass(kind, OpError):
                _refuse(encoding.name, BaseException)
            error: BaseException = kind(*encoding.arguments)
            return error
        if kind is OpError:
            return OpError(None, encoding.operation, encoding.message, encoding.code)
        if kind is None or not issubclass(kind, OpError):
            _refuse(encoding.name, OpError)
        run_error: OpError = kind(None, encoding.operation, encoding.message)
        run_error.error_code = encoding.code
        return run_error
    except TypeError as wrong:
        raise MalformedMessage(f"Expected the arguments of {encoding.name}: {wrong}.") from None
