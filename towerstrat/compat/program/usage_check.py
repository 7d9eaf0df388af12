"""``towerstrat check``: what programs use of ``tensorflow``, and what of that works, without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from towerstrat.compat.names import public_names
from towerstrat.compat.program import python2_hints as python2
from towerstrat.compat.program import source_reader, version_choice, version_evidence
from towerstrat.compat.program.name_resolution import Resolver, Status
from towerstrat.compat.program.program_files import Files, Program, roots_of
from towerstrat.compat.program.version_choice import Api
from towerstrat.compat.program.version_evidence import Decision

TRIED = "tried"
PYTHON2 = "python2"
UNREADABLE = "unreadable"
_LACKING = {Status.MISSING.value, Status.OTHER_ERA.value, Status.UNKNOWN.value, PYTHON2}
CODES = {
    Status.WORKS.value: "works",
    Status.NO_EFFECT.value: "changes nothing, and why that is safe",
    Status.MISSING.value: "the original has it, towerstrat does not",
    Status.OTHER_ERA.value: "the other original has it",
    Status.UNKNOWN.value: "no original has it",
    TRIED: "does not work, and the program catches that or asks for the version before",
    PYTHON2: "Python 2",
    UNREADABLE: "cannot be read",
}
"""Code -> what it says."""


class Finding(NamedTuple):
    """What is said about one place of a file.

    Attributes:
      line, column: from 1. width: in characters.
      code: of ``CODES``. name: the name that it is about, with its keyword if it is about that; '' for the whole file.
      counted: whether it counts in the share of the names that work.
    """

    line: int
    column: int
    width: int
    code: str
    name: str
    message: str
    counted: bool = False


class Meaning(NamedTuple):
    """Which names ``tensorflow`` has in a program, why, and its version."""

    api: int
    reason: str | None
    version: str


_UNTOLD = Meaning(1, None, public_names.VERSIONS[1])


@dataclass
class Checked:
    """A file with what was found in it, and which names ``tensorflow`` has there."""

    path: Path
    text: str
    findings: list[Finding]
    decision: Meaning = _UNTOLD


class Share(NamedTuple):
    """How many of the different names in some files work."""

    working: int
    names: int

    def __str__(self) -> str:
        percent = 100 * self.working // self.names if self.names else 100
        return f"{self.working} of {self.names} names work ({percent}%)"


def check(paths: Sequence[Path], api: Api | None = None) -> list[Checked]:
    """Reads programs: files with the modules that they import, and all Python files of folders.

    Args:
      api: what ``tensorflow`` is; None: what each program is written for.
    """
    sources = Files()
    resolvers = cache(Resolver)
    found: dict[Path, Checked] = {}
    for path, decision in _decisions(paths, api, sources).items():
        try:
            source = sources.source(path)
        except (OSError, SyntaxError, ValueError) as error:
            found[path] = Checked(path, _text_of(path), [_unreadable(error)])
        else:
            others = set(source.mentions) - set(version_choice.reached(source, decision.version))
            resolver = resolvers(decision.api)
            findings = [*_of_names(source, resolver, others), *_of_members(source, resolver), *_of_python2(source)]
            found[path] = Checked(path, source.text, sorted(findings), decision)
    return list(found.values())


def status(checked: Iterable[Checked]) -> int:
    """0: all works, 1: something is missing, 2: something could not be read."""
    codes = {finding.code for file in checked for finding in file.findings}
    return 2 if UNREADABLE in codes else 1 if codes & _LACKING else 0


def share(checked: Iterable[Checked]) -> Share:
    """The share of the names that work; each counts once, whatever its uses."""
    names = {(f.name, f.code) for file in checked for f in file.findings if f.counted}
    return Share(sum(code not in _LACKING for _, code in names), len(names))


# ---- which files, and what they are written for --------------------------------------------------------------------


def _python_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            inside = (file.relative_to(path) for file in sorted(path.rglob("*.py")))
            yield from (path / file for file in inside if not any(part.startswith(".") for part in file.parts))
        else:
            yield path


def _decisions(paths: Sequence[Path], api: Api | None, sources: Files) -> dict[Path, Meaning]:
    """The files of some programs. A file that others import is what the program is that it is a part of."""
    folders = [path.resolve() for path in paths if path.is_dir()]
    programs = {path.resolve(): sources.program([path], [*roots_of(path), *folders]) for path in _python_files(paths)}
    helpers = {helper.path for program in programs.values() for helper in program.helpers}
    found: dict[Path, Meaning] = {}
    for path in sorted(programs, key=lambda path: path in helpers):
        program = programs[path]
        decision = _decision(program, api)
        for part in (path, *(helper.path for helper in program.helpers)):
            if part not in found or found[part].reason is None:
                found[part] = decision
    return found


def _decision(program: Program, api: Api | None) -> Meaning:
    if api is not None:
        return Meaning(api[0], f"--api {api[1] or api[0]}", api[1] or version_choice.choose(program, api[0]))
    try:
        decision = version_evidence.decide(program)
    except version_evidence.Conflict as conflict:
        decision = Decision(1, str(conflict))
    return Meaning(*decision, version_choice.choose(program, decision.api))


# ---- one file ------------------------------------------------------------------------------------------------------


def _of_names(
    source: source_reader.Source, resolver: Resolver, others: Set[source_reader.Mention]
) -> Iterator[Finding]:
    """Of each mention; ``others`` are for other versions."""
    for mention in source.mentions:
        verdict = resolver.verdict(mention.name, mention.keyword)
        if mention.keyword is not None and (verdict.status is Status.WORKS or not resolver.verdict(mention.name).works):
            continue  # the name says it
        code, message = verdict.status.value, verdict.message or f"{mention} works."
        if (mention.optional or mention in others) and not verdict.works:
            code, message = TRIED, f"{message} The program has another way."
        counted = mention.keyword is None and code != TRIED
        yield Finding(mention.line, mention.column, mention.width, code, str(mention), message, counted)


def _of_members(source: source_reader.Source, resolver: Resolver) -> Iterator[Finding]:
    """Of each member of an object that does nothing but refuse."""
    for member in source.members:
        refused = resolver.refused_member(member.name)
        if refused is not None:
            code, message = Status.MISSING.value, f"{member.name} is not supported: {refused}"
            if member.optional:
                code, message = TRIED, f"{message} The program has another way."
            yield Finding(member.line, member.column, member.width, code, member.name, message, code != TRIED)


def _of_python2(source: source_reader.Source) -> Iterator[Finding]:
    """The first use of each builtin and module of Python 2 that nothing in the file replaces."""
    lines = source.text.split("\n")
    found: list[tuple[str, ast.Name | ast.alias]] = [(n.id, n) for n in source.unbound if n.id in python2.BUILTINS]
    found += [(module, alias) for module, alias in source.modules if module.partition(".")[0] in python2.MODULES]
    for name, node in dict(sorted(found, key=lambda one: (one[1].lineno, one[1].col_offset), reverse=True)).items():
        column = source_reader.characters(lines[node.lineno - 1], node.col_offset)
        message = f"{name} is gone. {python2.HELP}"
        yield Finding(node.lineno, column + 1, len(name), PYTHON2, name, message)


def _unreadable(error: Exception) -> Finding:
    hint = python2.hint(error)
    if isinstance(error, SyntaxError):
        said = " ".join(filter(None, [error.msg.rstrip(".") + ".", hint]))
        return Finding(error.lineno or 1, max(error.offset or 1, 1), 1, UNREADABLE, "", said)
    return Finding(1, 1, 0, UNREADABLE, "", str(error))


def _text_of(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""
