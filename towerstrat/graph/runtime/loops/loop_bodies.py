"""Compare the step of two compiled loops: whether XLA has made the same instructions of one body in both.

A step's bits do not depend on which program runs it where both loops have the same instructions for it. That is so in
all compilers that were tried, for loops with room for two steps or more, and is a fact about them, not a promise; so
``LIMITS.compare_loops`` compares the texts of the optimized HLO, and ``chunk_sizing`` gives up the scan on a
difference.

The body is found from the entry's ``while`` instruction, with all computations that it calls. Of each instruction
names, layouts and metadata are dropped, and loop control, data movement and integer results are left out; what remains
are multisets of lines:

    scan of 100     {"% = f32[8] multiply(%, %)": 1, "% = f32[8] add(%, %)": 1}
    loop, room 2    {"% = f32[8] multiply(%, %)": 1, "% = f32[8] subtract(%, %)": 1}
    differences     ["- % = f32[8] add(%, %)", "+ % = f32[8] subtract(%, %)"]

>>> called("  %w = f32[] while(%x), condition=%cond, body=%body.1", "body")
['body.1']
"""

from __future__ import annotations

import re
from collections import Counter

import jax

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
_CALLED = re.compile(
    r"(?:calls|to_apply|body|condition|true_computation|false_computation|called_computations|branch_computations)="
    r"\{?(%[\w.\-]+(?:, %[\w.\-]+)*)"
)
_OPCODE = re.compile(r"= (?:\(.*?\)|\S+) ([\w\-]+)\(")
_NOISE = (
    (re.compile(r", (?:metadata|frontend_attributes|sharding|origin)=\{.*?\}(?=,|$)"), ""),
    (re.compile(r", backend_config=.*"), ""),
    (re.compile(r"/\*index=\d+\*/"), ""),
    (re.compile(r"(?:calls|to_apply|body|condition|[a-z]+_computations?)=\{?[^,}]*(?:, %[^,}]*)*\}?"), ""),
    (re.compile(r"%[\w.\-]+"), "%"),
    (re.compile(r"\{[\d,]*(?::[^{}]*)?\}"), ""),  # layouts
    (re.compile(r", (?:channel_id|index)=\d+"), ""),
    (re.compile(r"^\s*(?:ROOT )?"), ""),
)
_CARRIED = re.compile(
    "parameter|get-tuple-element|tuple|bitcast|copy|copy-start|copy-done|while|fusion|call|constant|dynamic-slice|"
    "dynamic-update-slice|slice-start|slice-done|async-start|async-done|broadcast"
)
"""Opcodes of data movement and structure, which compute nothing themselves."""
_EXACT = re.compile(r"= (?:[su]\d+|pred)\[")
"""Integer results: the same bits however they are compiled. Step counters are among them."""


def differences(first: jax.stages.Compiled, second: jax.stages.Compiled) -> list[str]:
    """The instructions that only one of two loops' steps has, as lines without names; empty: the steps are the same.

    Loop control, data movement and integer results do not count.

    Args:
      first: a program with one loop over steps.
      second: another, whose loop has the same body.
    """
    one, other = (_instructions(program.as_text() or "") for program in (first, second))
    return [*(f"- {line}" for line in (one - other)), *(f"+ {line}" for line in (other - one))]


def _instructions(text: str) -> Counter[str]:
    """The instructions of a program's outermost loop, in its body and in all that this calls."""
    lines_of, entry = computations(text)
    loops = [line for line in lines_of.get(entry, ()) if " while(" in line]
    instructions: Counter[str] = Counter()
    seen: set[str] = set()
    waiting = [name for line in loops for name in called(line, "body")]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        lines = []
        for line in lines_of.get(name, ()):
            waiting += called(line)
            opcode = _OPCODE.search(line)
            if opcode is None or _CARRIED.fullmatch(opcode[1]) or _EXACT.search(line):
                continue
            for pattern, instead in _NOISE:
                line = pattern.sub(instead, line)
            lines.append(line)
        # What is in one fusion is compiled together: which instructions these are is part of a step too.
        instructions.update(["; ".join(sorted(lines))] if lines and "fused" in name else lines)
    return instructions


def computations(text: str) -> tuple[dict[str, list[str]], str]:
    """(name -> lines of each computation, the name of the one that the program begins with)."""
    lines_of: dict[str, list[str]] = {}
    entry, lines = "", []
    for line in text.splitlines():
        head = None if line.startswith(" ") else _COMPUTATION.match(line)
        if head is not None:
            lines = lines_of[head[2]] = []
            entry = head[2] if head[1] else entry
        elif line.startswith(" "):
            lines.append(line)
    return lines_of, entry


def called(line: str, which: str | None = None) -> list[str]:
    """The names of the computations that an instruction calls. ``which``: by this attribute alone, such as "body"."""
    names = []
    for match in _CALLED.finditer(line):
        if which is None or match[0].startswith(f"{which}="):
            names += [name.strip().lstrip("%") for name in match[1].split(",")]
    return names
