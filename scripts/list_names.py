"""Writes docs/names.md: every name of the 1.x namespace, by module. Run it after the table of names has changed."""

import collections
import pathlib

from towerstrat.compat import names

OUT = pathlib.Path(__file__).parent.parent / "docs" / "names.md"


def page() -> str:
    """The page's text."""
    by_module = collections.defaultdict(list)
    for name in names.table():
        module, _, last = name.rpartition(".")
        if not last.startswith("__"):
            by_module[module].append(last)
    total = sum(map(len, by_module.values()))
    lines = [
        "# Names of the 1.x namespace",
        "",
        f"The {total} names of `towerstrat.compat.v1` (`tf` below), made by `python scripts/list_names.py`.",
        "Arguments and defaults are the original's. Other public names of 1.12 raise an error that says what is near.",
        "",
    ]
    for module in sorted(by_module):
        entries = ", ".join(f"`{n}`" for n in sorted(by_module[module], key=str.lower))
        lines += [f"## `{module}`", "", entries, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    OUT.write_text(page())
