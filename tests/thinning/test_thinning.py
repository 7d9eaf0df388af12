"""Which tests are left to the long run, and that what is written of lines is what ran."""

import os
import subprocess
import sys

import pytest

from tests.conftest import COLLECTED
from tests.thinning import table
from tests.thinning.__main__ import choose, fitted
from tests.thinning.lines import ROOT, Record, read
from tests.value_cases import table as value_cases


def _record(test, seconds, *lines):
    return Record(test, seconds, 0.0, frozenset(("a.py", line) for line in lines))


def test_the_dearest_go_whose_lines_others_run():
    records = [_record("a", 5.0, 1, 2), _record("b", 4.0, 1, 2, 3), _record("c", 3.0, 3), _record("d", 0.01, 1, 2)]
    assert choose(records, [], 1) == ["a", "b"]
    assert choose(records, ["a"], 1) == ["b"]
    assert choose(records, [], 2) == ["a"]
    assert choose(records, [], 3) == []


def test_a_case_of_each_cheap_function_stays():
    records = [_record("a[1]", 0.5, 1), _record("a[2]", 0.4, 1), _record("b", 0.3, 1), _record("c", 3.0, 1)]
    assert choose(records, [], 1) == ["c", "a[1]"]


def test_lines_are_run_as_often_as_the_seconds_allow():
    records = [_record(f"test{i}", 5.0, 1) for i in range(5)]
    assert fitted(records, [], 15.0) == (["test0", "test1"], 3)
    assert fitted(records, [], 0.0) == (["test0", "test1", "test2", "test3"], 1)


def test_what_is_thinned_is_there_and_no_value_case(request):
    collected = request.config.stash[COLLECTED]
    files = {name.partition("::")[0] for name in collected}
    gone = sorted(t for t in table.thinned() if t.partition("::")[0] in files and t not in collected)
    assert gone == [], "tests of thinned.txt that are no more: take them out"
    assert not table.thinned() & value_cases.tests()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring")
def test_lines_of_a_test_and_of_what_it_starts(tmp_path):
    test = tmp_path / "test_it.py"
    test.write_text(
        "import subprocess, sys\n"
        "from towerstrat import errors\n"
        "def test_child(): subprocess.run([sys.executable, '-c', 'import towerstrat.errors'], check=True)\n"
        "def test_own(): errors.OpError(None, None, 'x', 3)\n"
    )
    environment = {**os.environ, "LINES_FOLDER": str(tmp_path / "out"), "PYTHONPATH": ROOT}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.thinning.recorder", "-p", "no:cacheprovider", test]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    child, own = read(tmp_path / "out")
    assert [record.test.rpartition("::")[2] for record in (child, own)] == ["test_child", "test_own"]
    assert own.lines
    assert {file for file, _ in own.lines} == {"towerstrat/errors.py"}
    assert {"towerstrat/__init__.py", "towerstrat/errors.py"} <= {file for file, _ in child.lines}
    assert child.children > own.children == 0.0
