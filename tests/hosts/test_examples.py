"""The programs of ``examples`` give in two and in four processes what they give in one with as many towers."""

from importlib.util import find_spec

import pytest

from tests.hosts.examples import EXAMPLES, PROGRAMS, compared, observe

MODULES = {
    "libraries/training.py", "tpu/bert/modeling.py", "tpu/bert/optimization.py", "tpu/bert/tokenization.py",
}  # fmt: skip
"""What programs import."""


def test_every_example_is_compared():
    there = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.py")}
    assert there == {program.script for program in PROGRAMS.values()} | MODULES


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """A function of a number of processes and a program: the folder of what the program gave there, run once."""
    places, data = {}, tmp_path_factory.mktemp("data")

    def of(processes, name):
        if (processes, name) not in places:
            places[processes, name] = tmp_path_factory.mktemp("seen")
            observe(processes, [name], places[processes, name], data)
        return places[processes, name]

    return of


@pytest.mark.long
@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_those_of_one_process(name, processes, seen):
    absent = [package for package in PROGRAMS[name].needs if find_spec(package) is None]
    if absent:
        pytest.skip(f"there is no {', '.join(absent)} here")
    count, largest = compared(name, processes, seen(1, name), seen(processes, name))
    assert count
    assert largest <= PROGRAMS[name].bound
