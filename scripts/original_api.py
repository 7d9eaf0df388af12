"""Writes what the package and its tests keep of the original's public interface: names and signatures.

    python scripts/original_api.py SIGNATURES.json [--contrib FOLDER]

SIGNATURES.json maps each public name of TensorFlow 1.12 to its kind and arguments; FOLDER is ``tensorflow/contrib`` of
an installation, for the names of its packages. Written are ``towerstrat/compat/original_names.txt`` (every name, one
line per module) and ``tests/golden/signatures.txt`` (arguments of what towerstrat exports, one line each).
"""

from __future__ import annotations

import argparse
import json
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from towerstrat.compat import names

REPOSITORY = Path(__file__).resolve().parents[1]
NOT_API = {"absolute_import", "division", "print_function", "tf_decorator"}
ALIASES = {"tf.flags": "tf.app.flags", "tf.contrib.layers": "tf.contrib.slim"}
"""Modules that the table lists under another name."""
INSIDES = ("tf.contrib.slim.", "tf.contrib.learn.", "tf.app.flags.tf_decorator")
"""Modules whose own modules are leaks of the implementation, not names to keep."""


def kept(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return last not in NOT_API and not module.startswith(INSIDES)


def name_lines(signatures: dict[str, Any], contrib: Path | None) -> list[str]:
    members: dict[str, set[str]] = defaultdict(set)
    for name in filter(kept, signatures):
        module, _, last = name.rpartition(".")
        members[module].add(last)
    for alias, module in ALIASES.items():
        members[alias] = members[module]
    if contrib is not None:
        members["tf.contrib"] |= {p.parent.name for p in contrib.glob("*/__init__.py")}
    return [f"{module}: {' '.join(sorted(found))}" for module, found in sorted(members.items())]


def signature_lines(signatures: dict[str, Any]) -> list[str]:
    lines = []
    for name in sorted(names.table()):
        module, _, last = name.rpartition(".")
        entry = signatures.get(f"{ALIASES.get(module, module)}.{last}")
        if entry is None or entry["kind"] == "value" or name.startswith(("tf.flags.", "tf.app.flags.")):
            continue  # flags are absl's own, of any version
        if entry["kind"] == "function":
            lines.append(f"{name}({'; '.join(entry['args'])})")
            continue
        lines.append(f"class {name}({'; '.join(entry.get('init') or [])})")
        for member, args in sorted(entry["members"].items()):
            if name == "tf.test.TestCase" and hasattr(unittest.TestCase, member):
                continue  # of any version of Python
            if isinstance(args, list):
                lines.append(f"    {member}({'; '.join(args)})")
            elif args == "property":
                lines.append(f"    {member}: property")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("signatures", type=Path)
    parser.add_argument("--contrib", type=Path)
    arguments = parser.parse_args()
    signatures = json.loads(arguments.signatures.read_text())
    for path, lines in (
        (REPOSITORY / "towerstrat/compat/original_names.txt", name_lines(signatures, arguments.contrib)),
        (REPOSITORY / "tests/golden/signatures.txt", signature_lines(signatures)),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{path}: {len(lines)} lines")


if __name__ == "__main__":
    main()
