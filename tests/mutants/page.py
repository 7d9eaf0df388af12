"""``docs/mutants.md``: the table of mutants as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

SEED, COMMIT = 20261128, "683f8f63"
"""The draw of ``mutants.tsv``: its seed, and the source."""


class Shown(Protocol):
    """The columns of the page: see ``Row``."""

    number: str
    kind: str
    file: str
    line: str
    noticed: str
    led_to: str


def page(rows: Sequence[Shown]) -> str:
    """The page, in Markdown."""
    at_first = sum(not row.led_to for row in rows)
    now = sum(bool(row.noticed) for row in rows)
    later = len(rows) - at_first
    lines = [
        "# Mutants",
        "",
        "Small wrong changes are drawn from the source by kind and by chance, not chosen by what tests catch; one at a",
        "time is made in a copy of the tree, where the default tests of the room that it touches run until their first",
        "failure; where none of them fails, those of other floors that run the line do.",
        "",
        f"`python -m tests.mutants --draw --seed {SEED} --count {len(rows)}` drew these at commit {COMMIT}.",
        f"The default tests noticed {at_first} of {len(rows)} as they were. Each of the other {later} led to a test or",
        f"to the line's removal, or its reason is said; {now} are noticed now.",
        "`python -m tests.mutants 6 12` makes some again, and `python -m tests.mutants --draw --seed N` draws others.",
        "",
        "| | kind | place | noticed by | led to |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        place = f"`{row.file.removeprefix('towerstrat/')}:{row.line}`"
        noticed = row.noticed.removeprefix("tests/").replace("|", "\\|")
        lines.append(
            f"| {row.number} | {row.kind} | {place} | {f'`{noticed}`' if noticed else 'none'} | {row.led_to} |"
        )
    return "\n".join(lines) + "\n"
