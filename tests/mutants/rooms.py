"""The tests of the room that a file of the package is in."""

from __future__ import annotations

import pathlib

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


def tests(file: str, line: int, lines: pathlib.Path | None) -> list[str]:
    """Files of tests, those first that are most likely to notice a change of a line.

    Args:
      file: of the package.
      line: from 1.
      lines: a folder that ``tests.mutants.lines`` wrote. With it, the files of the floor that ran the line, those that
        run least first, then the other files of the room; without, the files of the floor, those of the room first.
    """
    room = sorted(str(f.relative_to(ROOT)) for f in folder(file).rglob("test_*.py"))
    own = [f"test_{pathlib.PurePath(file).stem}.py"]
    room.sort(key=lambda name: pathlib.PurePath(name).name not in own)
    if lines is None:
        return list(dict.fromkeys([*room, *floor(file)]))
    ran = set(floor(file)).intersection(_that_ran(lines, file, line))
    return list(dict.fromkeys([*(name for name in _that_ran(lines, file, line) if name in ran), *room]))


def elsewhere(file: str, line: int, lines: pathlib.Path) -> list[str]:
    """Files of tests of other floors that ran a line, those that run least first."""
    return [name for name in _that_ran(lines, file, line) if name not in floor(file)]


def _that_ran(lines: pathlib.Path, file: str, line: int) -> list[str]:
    every = sorted(lines.iterdir(), key=lambda record: record.stat().st_size)
    names = [record.name.replace("+", "/") for record in every]
    return [name for name in names if name.startswith("tests/") and _ran(lines, name, f"{file}:{line}")]


def _record(lines: pathlib.Path, name: str) -> pathlib.Path:
    return lines / name.replace("/", "+")


def _ran(lines: pathlib.Path, name: str, place: str) -> bool:
    record = _record(lines, name)
    return record.exists() and f"\n{place}\n" in "\n" + record.read_text()
