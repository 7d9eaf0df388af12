"""Random tower functions whose Python differs by tower: values of two runs, variables, names and the order of calls."""

import towerstrat.compat.v1 as tf
from tests.golden import mirrored_programs
from tests.spread import spread
from tests.towers.mirrored.agreement import differences, kept, plain

EXPECTED = kept("mirrored_random.json")
PROGRAMS = [tuple(map(int, key.split())) for key in EXPECTED]


@spread(("seed", "towers"), PROGRAMS, every=25)
def test_program(seed, towers):
    found = plain(mirrored_programs.facts(tf, seed, towers))
    assert differences(found, EXPECTED[f"{seed} {towers}"]) == [], mirrored_programs.written(seed)[0]
