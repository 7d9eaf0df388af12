"""The programs of ``tests/cases`` print here what they printed under the original (``scripts/cases``)."""

from tests import printed
from tests.spread import spread

CASES = printed.ROOT / "tests" / "cases"


@spread("case", printed.table(CASES), every=5, ids=lambda case: case.name)
def test_prints_what_the_original_printed(case):
    outcome = printed.outcome(case, original=False)
    assert not outcome.stops, outcome


def test_every_program_is_in_the_table_and_has_its_output():
    cases = printed.table(CASES)
    names = {case.name for case in cases}
    assert names == {path.stem for path in CASES.glob("*.py")}
    assert names == {path.stem for path in (CASES / "expected").glob("*.txt")}
    assert {case.original for case in cases} <= {*printed.OPTIONS, "NumPy"}
