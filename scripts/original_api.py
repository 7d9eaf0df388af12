"""Writes what the package and its tests keep of the originals' public interfaces: names and signatures.

    python scripts/original_api.py SIGNATURES_OF_1.json [--contrib FOLDER]
    python scripts/original_api.py SIGNATURES_OF_2.json --api 2
    python scripts/original_api.py SIGNATURES_OF_1.15.json --api 1.15

The JSON maps each public name of TensorFlow 1.12, 2.15 or 1.15 to its kind and arguments (``scripts/dump_original.py``
writes the last two; of 1.15 is kept what neither of the others has, so it goes last); FOLDER is ``tensorflow/contrib``
of an installation, for the names of its packages. Written are
``towerstrat/compat/names/original_names*.txt`` (every name, one line per module) and ``tests/golden/signatures*.txt``
(arguments of what towerstrat exports, one line each; what 1.13 to 1.15 added stands below ``tf.compat.v1``). That of
1.15 makes two more: ``tests/golden/signatures_changed.txt``, the lines of 1.12 that have other arguments there, and
``towerstrat/compat/names/later_arguments.txt``, the arguments that came with 1.13 to 1.15.
"""

from __future__ import annotations

import argparse
import json
import unittest
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from towerstrat.compat.names import public_names

REPOSITORY = Path(__file__).resolve().parents[1]
COMPAT = REPOSITORY / "towerstrat/compat/names"
SIGNATURES = REPOSITORY / "tests/golden/signatures.txt"
NOT_API = {"absolute_import", "division", "print_function", "tf_decorator"}
ENDINGS = {"1": "", "1.15": "_v1_15", "2": "_v2"}
ALIASES = {"tf.flags": "tf.app.flags", "tf.contrib.layers": "tf.contrib.slim"}
"""Modules that the table lists under another name."""
INSIDES = ("tf.contrib.slim.", "tf.contrib.learn.", "tf.app.flags.tf_decorator")
"""Modules whose own modules are leaks of the implementation, not names to keep."""


def kept(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return last not in NOT_API and not module.startswith(INSIDES)


def name_lines(signatures: dict[str, Any], contrib: Path | None, api: str) -> list[str]:
    members: dict[str, set[str]] = defaultdict(set)
    elsewhere = listed("") | listed("_v2") if api == "1.15" else set()
    for name in filter(kept, signatures):
        if api == "1.15" and (name.startswith("tf.compat.") or {name, in_later(name)} & elsewhere):
            continue
        module, _, last = name.rpartition(".")
        members[module].add(last)
    if api == "1":
        members.update({alias: members[module] for alias, module in ALIASES.items()})
    if contrib is not None:
        members["tf.contrib"] |= {p.parent.name for p in contrib.glob("*/__init__.py")}
    return [f"{module}: {' '.join(sorted(found))}" for module, found in sorted(members.items())]


def exported(api: str) -> list[str]:
    """The names to describe, as the original of this version has them."""
    first, later = set(public_names.names(1)), set(public_names.names(1)) - listed("")
    if api == "1":
        return sorted(first)
    if api == "1.15":
        return sorted(name for name in later if in_later(name) not in listed("_v2"))
    return sorted(public_names.names(2)) + sorted(in_later(name) for name in later)


def in_later(name: str) -> str:
    """A name of 1.x as 2.x has it."""
    return f"tf.compat.v1{name.removeprefix('tf')}"


@cache
def listed(ending: str) -> set[str]:
    """The names in a file of them."""
    found = set()
    for line in (COMPAT / f"original_names{ending}.txt").read_text(encoding="utf-8").splitlines():
        module, _, members = line.partition(":")
        found |= {f"{module}.{member}" for member in members.split()}
    return found


def signature_lines(signatures: dict[str, Any], api: str) -> list[str]:
    lines = []
    for name in exported(api):
        module, _, last = name.rpartition(".")
        entry = signatures.get(f"{ALIASES.get(module, module)}.{last}" if api == "1" else name)
        if entry is None or entry["kind"] == "value" or name.startswith(("tf.flags.", "tf.app.flags.")):
            continue  # flags are absl's own, of any version
        if entry["kind"] == "function":
            lines.append(f"{name}({'; '.join(entry['args'] or [])})")
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


def changed_lines(signatures: dict[str, Any]) -> list[str]:
    """What ``signatures.txt`` lists as 1.15 has it, where it has other arguments; of members, where it has more."""
    lines: list[str] = []
    owner = ""
    for line in SIGNATURES.read_text(encoding="utf-8").splitlines():
        head, _, listed = line.removesuffix(")").partition("(")
        member = head.strip() if head.startswith(" ") else None
        owner = owner if member else head.removeprefix("class ")
        entry = signatures.get(owner, {})
        found = entry.get("members", {}).get(member) if member else entry.get("init", entry.get("args"))
        before = listed.split("; ") if listed else []
        if not isinstance(found, list) or found == before or listed.startswith(("*args", "self; *args")):
            continue
        if not member or {argument.partition("=")[0] for argument in found} - {b.partition("=")[0] for b in before}:
            lines.append(f"{owner}{f'.{member}' if member else ''}({'; '.join(found)})")
    return lines


def later_lines(changed: list[str]) -> list[str]:
    """The functions and classes among changed lines, and which arguments they did not have in 1.12."""
    before = dict(map(_read, SIGNATURES.read_text(encoding="utf-8").splitlines()))
    lines = []
    for name, arguments in map(_read, changed):
        later = [a for a in arguments if a not in before.get(name, arguments) and not a.startswith("*")]
        if later:
            lines.append(f"{name}: {' '.join(later)}")
    return lines


def _read(line: str) -> tuple[str, list[str]]:
    """The name in a line of a file of signatures, and the names of its arguments."""
    head, _, listed = line.removesuffix(")").partition("(")
    return head.removeprefix("class "), [argument.partition("=")[0] for argument in listed.split("; ")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("signatures", type=Path)
    parser.add_argument("--contrib", type=Path)
    parser.add_argument("--api", choices=tuple(ENDINGS), default="1")
    arguments = parser.parse_args()
    signatures = json.loads(arguments.signatures.read_text())
    ending = ENDINGS[arguments.api]
    files = {
        COMPAT / f"original_names{ending}.txt": name_lines(signatures, arguments.contrib, arguments.api),
        REPOSITORY / f"tests/golden/signatures{ending}.txt": signature_lines(signatures, arguments.api),
    }
    if arguments.api == "1.15":
        changed = changed_lines(signatures)
        files[SIGNATURES.with_stem("signatures_changed")] = changed
        files[COMPAT / "later_arguments.txt"] = later_lines(changed)
    for path, lines in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{path}: {len(lines)} lines")


if __name__ == "__main__":
    main()
