"""The original's operation types: names of inputs, outputs and attributes.

``definitions.txt`` has those of 1.12, ``definitions_later.txt`` those of 2.15 that 1.12 does not have. A line is
``TYPE | INPUTS | OUTPUTS | ATTRIBUTES``. An input or output is ``name:type``, where the type is an element type or the
attribute that says it; ``N*`` before it stands for as many as the attribute N says, ``*`` for a list of types, ``&``
for a reference. An attribute is ``name:kind``, then ``=`` and its default in JSON.
``scripts/original_ops.py`` makes the files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

NO_DEFAULT = object()


class Argument(NamedTuple):
    """An input or output: its name; its type, or the attribute that says it; the attribute of its count, or ""."""

    name: str
    kind: str
    number: str

    @property
    def many(self) -> bool:
        """Whether it stands for any number of tensors."""
        return bool(self.number) or self.kind.startswith("*")


class Attribute(NamedTuple):
    """The kind of an attribute, such as ``"int"`` or ``"list(type)"``, and its default, or ``NO_DEFAULT``."""

    kind: str
    default: Any


@dataclass(frozen=True)
class Definition:
    """The original's ``OpDef`` of one operation type: its inputs, outputs and attributes."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attributes: Mapping[str, Attribute]


@cache
def definition(type: str) -> Definition | None:
    """The original's definition of a type; None where it has no such type."""
    line = _lines().get(type)
    if line is None:
        return None
    inputs, outputs, attributes = (part.split() for part in line)
    return Definition(
        tuple(map(_argument, inputs)), tuple(map(_argument, outputs)), dict(_attribute(a) for a in attributes)
    )


@cache
def _lines() -> dict[str, list[str]]:
    folder = resources.files(__package__)
    text = "".join(folder.joinpath(name).read_text() for name in ("definitions.txt", "definitions_later.txt"))
    return {type: parts for type, *parts in (line.split(" |") for line in text.splitlines())}


def _argument(text: str) -> Argument:
    name, _, kind = text.partition(":")
    number, star, last = kind.rpartition("*")
    return Argument(name, last.lstrip("&") if number else (star + last).lstrip("&"), number)


def _attribute(text: str) -> tuple[str, Attribute]:
    head, _, default = text.partition("=")
    name, _, kind = head.partition(":")
    return name, Attribute(kind, json.loads(default) if default else NO_DEFAULT)
