"""Make message classes from ``.proto`` files at run time: a parser for the subset that ``protos/`` uses.

No ``protoc`` and no generated code: a file is read into a ``FileDescriptorProto``, and protobuf makes classes of it.

    message A {                  message_type { name: "A"
      string name = 1;             field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING } }
    }

The subset: ``syntax``, ``package``, ``import``, ``enum`` (with ``allow_alias``), ``message``, nested ones, ``oneof``,
``map``, ``repeated``. A ``map`` becomes a repeated entry message, as protoc does it. The descriptors have a pool of
their own, not protobuf's default one, where TensorFlow itself or TensorBoard register messages of the same names: two
different definitions of one name in a pool are an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, wrappers_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message_factory import GetMessageClass

_FILES = ("error_codes", "graph", "config", "events", "saved", "hparam", "test_log", "projector", "example")
"""Files of ``protos/``, each after those that it imports."""
_TOKEN = re.compile(r'[-\w.]+|"[^"]*"|[{}<>=;,]')
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {name.removeprefix("TYPE_").lower(): number for name, number in _Field.Type.items()}


@cache
def message_types(module: str) -> dict[str, Any]:
    """Message classes and enumerations by name. ``module``: their ``__module__``, by which pickle finds them."""
    pool = DescriptorPool()
    for known in (any_pb2, wrappers_pb2):
        pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    types: dict[str, Any] = {}
    for name in _FILES:
        pool.Add(_file(f"{name}.proto"))
        file = pool.FindFileByName(f"{name}.proto")
        for message, descriptor in file.message_types_by_name.items():
            types[message] = _class(descriptor)
            types[message].__module__ = module  # where pickle finds it
        types.update((enum, EnumTypeWrapper(descriptor)) for enum, descriptor in file.enum_types_by_name.items())
    return types


def _class(descriptor: Any) -> Any:
    """Class of a message, with attributes for nested messages, which protobuf's pure Python classes lack."""
    message_class = GetMessageClass(descriptor)
    for nested in descriptor.nested_types:
        inner = _class(nested)
        if not hasattr(message_class, nested.name):
            setattr(message_class, nested.name, inner)
    return message_class


# ---- reading .proto files ------------------------------------------------------------------------------------------


def _file(name: str) -> descriptor_pb2.FileDescriptorProto:
    text = (resources.files(__package__) / "protos" / name).read_text()
    tokens = iter(_TOKEN.findall(text))
    file = descriptor_pb2.FileDescriptorProto(name=name)
    for token in tokens:
        if token == "syntax":
            file.syntax = _statement(tokens)[-1].strip('"')
        elif token == "package":
            file.package = _statement(tokens)[-1]
        elif token == "import":
            file.dependency.append(_statement(tokens)[-1].strip('"'))
        elif token == "enum":
            _read_enum(file.enum_type.add(name=next(tokens)), tokens)
        else:
            _read_message(file.message_type.add(name=next(tokens)), tokens)
    return file


def _statement(tokens: Iterator[str]) -> list[str]:
    """Take the tokens up to the next semicolon."""
    return list(iter(tokens.__next__, ";"))


def _read_enum(enum: descriptor_pb2.EnumDescriptorProto, tokens: Iterator[str]) -> None:
    next(tokens)  # the brace
    for token in iter(tokens.__next__, "}"):
        statement = _statement(tokens)
        if token == "option":
            enum.options.allow_alias = statement == ["allow_alias", "=", "true"]
        else:
            enum.value.add(name=token, number=int(statement[-1], 0))


def _read_message(message: descriptor_pb2.DescriptorProto, tokens: Iterator[str]) -> None:
    next(tokens)  # the brace
    for token in iter(tokens.__next__, "}"):
        if token == "message":
            _read_message(message.nested_type.add(name=next(tokens)), tokens)
        elif token == "enum":
            _read_enum(message.enum_type.add(name=next(tokens)), tokens)
        elif token == "oneof":
            message.oneof_decl.add(name=next(tokens))
            next(tokens)  # the brace
            for kind in iter(tokens.__next__, "}"):
                _add_field(message, kind, _statement(tokens)).oneof_index = len(message.oneof_decl) - 1
        elif token == "map":
            _add_map(message, _statement(tokens))
        elif token == "repeated":
            kind = next(tokens)
            _add_field(message, kind, _statement(tokens), _Field.LABEL_REPEATED)
        else:
            _add_field(message, token, _statement(tokens))


def _add_field(
    message: descriptor_pb2.DescriptorProto, kind: str, statement: list[str], label: Any = _Field.LABEL_OPTIONAL
) -> descriptor_pb2.FieldDescriptorProto:
    """Add a field ``kind name = number;`` and return it. ``statement``: the tokens after the kind."""
    name, _, number = statement
    field = message.field.add(name=name, number=int(number), label=label)
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type_name = kind
    return field


def _add_map(message: descriptor_pb2.DescriptorProto, statement: list[str]) -> None:
    """Add a field ``map<key, value> name = number;``. ``statement``: the tokens after ``map``."""
    _, key, _, value, _, name, _, number = statement
    entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
    entry.options.map_entry = True
    _add_field(entry, key, ["key", "=", "1"])
    _add_field(entry, value, ["value", "=", "2"])
    _add_field(message, entry.name, [name, "=", number], _Field.LABEL_REPEATED)
