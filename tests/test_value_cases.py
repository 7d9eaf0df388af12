"""Each thing that computes values has a test in the default run that shows a wrong one (``tests/value_cases``)."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.conftest import COLLECTED
from tests.value_cases import table
from tests.value_cases.change import SAME, WRONG, changed, intercept
from tests.value_cases.exceptions import EXCEPTIONS
from tests.value_cases.results import wrong
from tests.value_cases.universe import KINDS, missing


@pytest.mark.parametrize("kind", KINDS)
def test_everything_has_a_value_case(kind):
    """CONTRIBUTING.md says how what is new gets one."""
    assert missing(kind) == []


def test_rows_and_exceptions_are_of_what_is_there():
    names = {kind: set(found.names()) for kind, found in KINDS.items()}
    assert [row for row in table.rows() if row.name not in names[row.kind]] == []
    assert [(kind, n) for kind, known in EXCEPTIONS.items() for n in known if n not in names[kind]] == []
    with_rows = {(row.kind, row.name) for row in table.rows()}
    assert [(kind, n) for kind, known in EXCEPTIONS.items() for n in known if (kind, n) in with_rows] == []


def test_the_tests_of_rows_run_by_default(request):
    collected = request.config.stash[COLLECTED]
    files = {name.partition("::")[0] for name in collected}
    gone = sorted(t for t in table.tests() if t.partition("::")[0] in files and t not in collected)
    assert gone == []


def test_the_table_is_sorted_and_each_thing_is_in_one_row():
    rows = table.rows()
    assert list(rows) == sorted(rows)
    assert len({(row.kind, row.name) for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("value", "same", "other"),
    [(2.0, 2.0, 2.03), (3, 3, 4), (True, True, False), (b"a", b"a", b"a?"), ((1, [False]), (1, [False]), (2, [True]))],
)
def test_values_are_changed_by_their_kind(value, same, other):
    assert changed(value, SAME) == same
    assert changed(value, WRONG) == other
    array = np.asarray(value) if not isinstance(value, tuple | bytes) else np.array([value], object)
    assert changed(array, SAME).tolist() == array.tolist()
    assert changed(array, WRONG).tolist() != array.tolist()


def test_results_are_changed_by_their_kind():
    dataset = tf.data.Dataset.from_tensor_slices({"x": [1.0, 2.0], "y": [b"a", b"b"]})
    found = wrong({"a": tf.constant([1, 2]), "b": dataset.make_one_shot_iterator().get_next()}, WRONG)
    element = wrong(dataset, WRONG).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        given = session.run([found, element])
    assert given[0]["a"].tolist() == [2, 3]
    assert given[0]["b"]["y"] == given[1]["y"] == b"a?"
    assert given[1]["x"] == np.float32(1.02)


def test_all_who_hold_a_function_call_what_is_around_it():
    def function(x, *, y=2):
        return x + y + offset

    offset, held = 1, function
    intercept(function, lambda original, *args, **kwargs: original(*args, **kwargs) * 10)
    intercept(function, lambda original, *args, **kwargs: original(*args, **kwargs) + 1)
    assert (held(1), held(1, y=3)) == (41, 51)
