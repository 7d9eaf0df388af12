"""The tests of the room that a file of the package is in."""

from __future__ import annotations

import ast
import pathlib
from collections import defaultdict
from functools import cache

from tests.thinning import lines

ROOT = pathlib.Path(__file__).parents[2]


def folder(file: str) -> pathlib.Path:
    """The deepest folder of tests that mirrors the folder of a file; ``tests`` for what is on no floor."""
    place = ROOT / "tests" / pathlib.PurePath(file).relative_to("towerstrat").parent
    while not place.is_dir():
        place = place.parent
    return place


def floor(file: str) -> list[str]:
    """All files of tests of the floor that a file is on; of what is on none, those beside the floors."""
    parts = pathlib.PurePath(file).relative_to("towerstrat").parts
    tests = ROOT / "tests"
    found = (tests / parts[0]).rglob("test_*.py") if (tests / parts[0]).is_dir() else tests.glob("test_*.py")
    return sorted(str(f.relative_to(ROOT)) for f in found)


def tests(file: str, line: int, record: pathlib.Path | None) -> list[str]:
    """Files of tests, those first that are most likely to notice a change of a line.

    Args:
      file: of the package.
      line: from 1.
      record: a folder that ``tests.thinning.recorder`` wrote. With it, the files of the floor that ran the line,
        those that run least first, then the other files of the room. Without, and for a line that runs when its
        module is imported, which is before any test, the files of the floor, those of the room first.
    """
    room = sorted(str(f.relative_to(ROOT)) for f in folder(file).rglob("test_*.py"))
    own = [f"test_{pathlib.PurePath(file).stem}.py"]
    room.sort(key=lambda name: pathlib.PurePath(name).name not in own)
    if record is None or _at_import(file, line):
        return list(dict.fromkeys([*room, *floor(file)]))
    ran = set(floor(file)).intersection(_that_ran(record, file, line))
    return list(dict.fromkeys([*(name for name in _that_ran(record, file, line) if name in ran), *room]))


def elsewhere(file: str, line: int, record: pathlib.Path) -> list[str]:
    """Files of tests of other floors that ran a line, those that run least first."""
    return [name for name in _that_ran(record, file, line) if name not in floor(file)]


def _at_import(file: str, line: int) -> bool:
    nodes = ast.walk(ast.parse((ROOT / file).read_bytes()))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return not any(f.body[0].lineno <= line <= (f.end_lineno or 0) for f in functions)


def _that_ran(folder: pathlib.Path, file: str, line: int) -> list[str]:
    found = [(len(ran), name) for name, ran in _lines_of_files(folder).items() if (file, line) in ran]
    return [name for _, name in sorted(found)]


@cache
def _lines_of_files(folder: pathlib.Path) -> dict[str, set[tuple[str, int]]]:
    found = defaultdict[str, set[tuple[str, int]]](set)
    for record in lines.read(folder):
        found[record.test.partition("::")[0]] |= record.lines
    return {name: ran for name, ran in found.items() if name.startswith("tests/")}
