"""Rows of a table of programs, one after the other: what differs, and a command that says so."""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Callable, Mapping, Sequence

from tests.covering import Row, Table


def difference(check: Callable[[Row], None], row: Row) -> str:
    """In a line what a row does otherwise than its table says, or ""."""
    try:
        check(row)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {where.filename}:{where.lineno}: {' '.join(str(error).split())[:300]}"
    return ""


def command(
    module: str, what: str, table: Table, sets: Mapping[str, Callable[[], Sequence[Row]]], check: Callable[[Row], None]
) -> int:
    """The command of a table: runs sets of rows or rows by name, and prints those that differ. Returns its status."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=what)
    parser.add_argument("rows", nargs="+", help=f"{', '.join(sets)}, or names of rows")
    parser.add_argument("--times", action="store_true", help="the CPU seconds of each row")
    arguments = parser.parse_args()
    rows = [row for name in arguments.rows for row in (sets[name]() if name in sets else [table.named(name)])]
    wrong, began = 0, time.process_time()
    for row in rows:
        start = time.process_time()
        problem = difference(check, row)
        wrong += problem != ""
        took = f" {time.process_time() - start:.2f} s" if arguments.times else ""
        if problem or took:
            print(f"{table.name_of(row)}{took} {problem}", flush=True)
    print(f"{len(rows)} rows, {wrong} differ, {time.process_time() - began:.0f} CPU seconds")
    return 1 if wrong else 0
