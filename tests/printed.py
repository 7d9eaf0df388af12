"""Kept programs, run here or under an original, and what they print compared with what the original printed.

A folder of them (``tests/cases``, ``tests/programs``) has ``NAME.py``, ``expected/NAME.txt`` with the original's whole
standard output, and a table of its own name, ``cases.tsv``, whose columns are ``Kept``'s first fields.
"""

import argparse
import concurrent.futures
import csv
import functools
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
OPTIONS = {"1.12.3": [], "1.15.5": ["--last"], "2.15.1": ["--later"]}
"""The arguments of ``scripts/oracle`` by version."""
LIMIT = 300
"""Seconds that a program may take."""

_WARNING = re.compile(r"^(WARNING|INFO|[WIE]\d{4} |towerstrat: )|\b\w*Warning: ")
_PROGRESS = re.compile(r"^\s*\d+/\d+ .*\[[=>.]+\]|^Parsing Inputs\.\.\.$|\x08|\r")
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
_STOP = re.compile(
    r"^towerstrat\.errors\.(?:UnknownSymbol|Unsupported)Error: .*?\b([A-Za-z_]\w*(?:\.\w+)+)", re.MULTILINE
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?!\w)")


class Kept(NamedTuple):
    """A program and how it is run.

    Attributes:
      original: the version that printed what is kept.
      api, towers: arguments of ``towerstrat run``.
      subject: of what kind the program is.
      stops: the public name at which it stops here, ``differs: ...``, or nothing.
      folder: where it is.
    """

    name: str
    original: str
    api: str
    towers: str
    subject: str = ""
    stops: str = ""
    folder: pathlib.Path = ROOT

    @property
    def program(self) -> pathlib.Path:
        return self.folder / f"{self.name}.py"

    @property
    def twin(self) -> pathlib.Path:
        """The program that the original runs: one of the same name in ``twins``, where it cannot run this one."""
        path = self.folder / "twins" / self.program.name
        return path if path.exists() else self.program

    @property
    def expected(self) -> str:
        """The original's standard output."""
        return (self.folder / "expected" / f"{self.name}.txt").read_text()


def table(folder: pathlib.Path) -> list[Kept]:
    """All programs of a folder, in the order of its table."""
    with (folder / f"{folder.name}.tsv").open(newline="") as file:
        rows = itertools.islice(csv.reader(file, delimiter="\t"), 1, None)
        return [Kept(*row)._replace(folder=folder) for row in rows]


def lines_of(text: str) -> list[str]:
    """The lines of an output that are compared, in one form: an array over several lines is one."""
    kept = [line for line in text.splitlines() if line.strip() and not _WARNING.search(line)]
    kept = [_up_to_error(line) for line in kept if not _PROGRESS.search(line)]
    text = re.sub(r"\bnp\.(?:float|int|uint|bool|str)\w*\(([^()]*)\)", r"\1", "\n".join(kept))  # scalars of NumPy 2
    text = re.sub(r",? dtype=\w+(?=\))", "", text)
    lines: list[str] = []
    depth = 0
    for line in text.splitlines():
        if depth > 0:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        depth += sum(line.count(c) for c in "[(") - sum(line.count(c) for c in "])")
    return [re.sub(r"\s*([\[\](),:])\s*", r"\1", re.sub(r"\s+", " ", line)).strip() for line in lines]


def _up_to_error(line: str) -> str:
    error = _ERROR.search(line)
    return line[: error.end()] if error else line


def agree(expected: str, printed: str) -> bool:
    """Whether two lines have the same words, and numbers that are close."""
    if _NUMBER.sub("#", expected) != _NUMBER.sub("#", printed):
        return False
    pairs = zip(map(float, _NUMBER.findall(expected)), map(float, _NUMBER.findall(printed)), strict=True)
    return all(a == b or abs(a - b) <= 1e-4 * max(1.0, abs(a)) for a, b in pairs)


def difference(expected: list[str], printed: list[str]) -> str | None:
    """The first difference of the lines of two outputs, or None."""
    pairs = itertools.zip_longest(expected, printed, fillvalue="(nothing)")
    return next((f"expected {a[:200]} | got {b[:200]}" for a, b in pairs if not agree(a, b)), None)


@functools.cache
def oracle(version: str) -> str:
    """The Python that has an original."""
    done = subprocess.run(
        [ROOT / "scripts" / "oracle", *OPTIONS[version]], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.split()[-1]


def command(program: Kept, original: bool) -> list[str]:
    """The command that runs a program here, or under its original."""
    if original:
        return [oracle(program.original), "-W", "ignore", str(program.twin)]
    options = ["--quiet", "--api", program.api, "--towers", program.towers]
    return [sys.executable, "-m", "towerstrat", "run", *options, str(program.program)]


def run(program: Kept, original: bool) -> subprocess.CompletedProcess[str]:
    """Runs a program in an empty folder. Raises ``subprocess.TimeoutExpired`` after ``LIMIT`` seconds."""
    environment = dict(os.environ)
    if not original:
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [environment.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            command(program, original), cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=LIMIT,
        )  # fmt: skip


class Outcome(NamedTuple):
    """The end of a program.

    Attributes:
      stops: nothing where it printed what is kept and ended; the public name at which it stopped, having printed the
        beginning of that; else ``differs: ...`` with the first difference.
      stderr: the end of what it wrote there, without warnings.
    """

    stops: str
    stderr: str = ""

    def is_said_by(self, program: Kept) -> bool:
        """Whether the table says that this happens."""
        return self.stops.partition(" ")[0] == program.stops.partition(" ")[0]

    def __str__(self) -> str:
        return f"{self.stops}\n{self.stderr}".rstrip()


def stop(stderr: str) -> str:
    """The public name that an error of ours says is not here, or "" where there is no such error."""
    found = _STOP.search(stderr)
    return found[1] if found else ""


def outcome(program: Kept, original: bool) -> Outcome:
    """Runs a program, here or under its original, and compares."""
    try:
        done = run(program, original)
    except subprocess.TimeoutExpired:
        return Outcome(f"differs: not ended after {LIMIT} s")
    stopped = stop(done.stderr) if done.returncode else ""
    expected, printed = lines_of(program.expected), lines_of(done.stdout)
    found = difference(expected[: len(printed)] if stopped else expected, printed)
    if found is None and done.returncode and not stopped:
        found = f"exit status {done.returncode}"
    told = [line for line in done.stderr.splitlines() if not _WARNING.search(line)]
    return Outcome(f"differs: {found}" if found else stopped, "\n".join(told)[-3000:])


class Request(NamedTuple):
    """The wish of a command line: the programs in the table's order, how many at a time, and on which side."""

    programs: list[Kept]
    jobs: int
    original: bool

    def outcomes(self) -> Iterator[tuple[Kept, Outcome]]:
        """The end of each program, in order."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            yield from zip(self.programs, pool.map(lambda p: outcome(p, self.original), self.programs), strict=True)


def request(folder: pathlib.Path, what: str, description: str) -> Request:
    """Reads the command line of a script that runs the programs of a folder, each of which is a ``what``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(what, nargs="*", help="names; all by default")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="programs at a time")
    parser.add_argument("--original", action="store_true", help="run them under the original")
    arguments = parser.parse_args()
    known = {program.name: program for program in table(folder)}
    names = getattr(arguments, what) or list(known)
    if unknown := set(names) - set(known):
        parser.error(f"no such {what}: {', '.join(sorted(unknown))}")
    programs = [known[name] for name in names]
    if arguments.original:
        programs = [program for program in programs if program.original in OPTIONS]
        for version in {program.original for program in programs}:
            oracle(version)
    return Request(programs, arguments.jobs, arguments.original)
