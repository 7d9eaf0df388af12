"""Looks names up: where the object of each is, and of which versions it is."""

from __future__ import annotations

from collections.abc import Iterator

from towerstrat.compat.names import name_file
from towerstrat.compat.names.name_file import Row
from towerstrat.compat.program.name_resolution import Resolver


def lines(name: str) -> tuple[list[str], bool]:
    """What a name is, and each name below it; whether it is here.

    Args:
      name: such as ``tf.concat``, ``tf.nn`` or ``tensorflow.python.util.nest``.
    """
    rows = name_file.below(name)
    if rows:
        width = max(len(row.name) for row in rows)
        return [f"{row.name:{width}}  {_versions(row):12}  {_place(row)}" for row in rows], True
    verdicts = {api: Resolver(api).verdict(name) for api in (1, 2)}
    here = "works: a constant, a member of a class, or a name that a package or another module of the original gives"
    said = [f"{name}  {api}.x: {verdict.message or here}" for api, verdict in verdicts.items()]
    return said, any(verdict.works for verdict in verdicts.values())


def _versions(row: Row) -> str:
    return row.first if row.first == row.last else f"{row.first} to {row.last}"


def _place(row: Row) -> str:
    return " over ".join(_paths(row)) if row.attribute != "*" else ", ".join(f"{m}.*" for m in row.module.split())


def _paths(row: Row) -> Iterator[str]:
    pairs = zip(row.module.split(), row.attribute.split() or [""], strict=True)
    return (f"{module}.{attribute}".removesuffix(".") for module, attribute in pairs)
