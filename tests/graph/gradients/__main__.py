"""``python -m tests.graph.gradients [pairs | triples | nested | ROW ...]``: runs rows of the table, or rows by name.

Prints each row that differs from its formula, how many did, and the CPU seconds that all took; ``--times`` each row's.
"""

import os

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TOWERSTRAT_COMPILATION_CACHE", "off")

import argparse
import sys
import time
import traceback

from tests.graph.gradients import table

SETS = {"pairs": table.pairs, "triples": table.triples, "nested": table.nested}


def difference(row: table.Row) -> str:
    """In a line what a row does otherwise than its formula says, or ""."""
    try:
        table.check(row)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {where.filename}:{where.lineno}: {' '.join(str(error).split())[:300]}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.graph.gradients", description="Rows of the table of gradients."
    )
    parser.add_argument("rows", nargs="+", help="pairs, triples, nested, or names of rows")
    parser.add_argument("--times", action="store_true", help="the CPU seconds of each row")
    arguments = parser.parse_args()
    rows = [row for name in arguments.rows for row in (SETS[name]() if name in SETS else [table.named(name)])]
    wrong, began = 0, time.process_time()
    for row in rows:
        start = time.process_time()
        problem = difference(row)
        wrong += problem != ""
        took = f" {time.process_time() - start:.2f} s" if arguments.times else ""
        if problem or took:
            print(f"{table.name_of(row)}{took} {problem}", flush=True)
    print(f"{len(rows)} rows, {wrong} differ, {time.process_time() - began:.0f} CPU seconds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
