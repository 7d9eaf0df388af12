"""The programs of ``tests/programs`` run, or stop, as their table says (``scripts/programs``)."""

import ast
import re

import pytest

from tests import printed
from tests.spread import spread

PROGRAMS = printed.ROOT / "tests" / "programs"
TABLE = printed.table(PROGRAMS)
RUN = [program for program in TABLE if not program.stops]
STOP = [program for program in TABLE if program.stops]


@spread("program", RUN, every=6, ids=lambda program: program.name)
def test_runs_to_its_end_with_the_originals_numbers(program):
    outcome = printed.outcome(program, original=False)
    assert outcome.is_said_by(program), outcome


@pytest.mark.long
@pytest.mark.parametrize("program", STOP, ids=lambda program: program.name)
def test_stops_where_it_says(program):
    outcome = printed.outcome(program, original=False)
    assert outcome.is_said_by(program), outcome


def test_every_program_is_in_the_table_and_has_its_output():
    names = [program.name for program in TABLE]
    assert len(set(names)) == len(names)
    assert set(names) == {path.stem for path in PROGRAMS.glob("*.py")}
    assert set(names) == {path.stem for path in (PROGRAMS / "expected").glob("*.txt")}
    assert set(names) >= {path.stem for path in (PROGRAMS / "twins").glob("*.py")}


@pytest.mark.parametrize("program", TABLE, ids=lambda program: program.name)
def test_every_program_is_whole(program):
    assert program.original in printed.OPTIONS
    assert program.subject
    assert program.expected.strip()
    source = program.program.read_text()
    assert 30 <= len(source.splitlines()) <= 150
    if program.original != "2.15.1":
        ast.parse(source, feature_version=(3, 6))


def test_the_readme_has_the_share_of_the_table():
    said = re.findall(r"(\d+) of (\d+) whole programs", (printed.ROOT / "README.md").read_text())
    assert said == [(str(len(RUN)), str(len(TABLE)))]
