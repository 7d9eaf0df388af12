"""Outputs are compared by words and numbers, and an error of ours says the name at which a program stops."""

import subprocess
import sys

import pytest

from tests import printed


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        ("[1. 2.]", "[1.00001 2.]", True), ("[1. 2.]", "[1.001 2.]", False), ("x 1.0", "y 1.0", False),
        ("a\nb", "a", False), ("a", "a\nb", False), ("ValueError: of theirs", "ValueError: of ours", True),
        ("ValueError", "TypeError", False), ("1.0", "np.float32(1.0)", True),
        ("1", "WARNING: slow\n1", True), ("200000.0", "200010.0", True), ("True", "False", False), ("nan", "nan", True),
        ("[[1 2]\n [3 4]]", "[[1 2] [3 4]]", True),
    ],
)  # fmt: skip
def test_outputs_are_compared(expected, found, same):
    assert (printed.difference(printed.lines_of(expected), printed.lines_of(found)) is None) is same


@pytest.mark.parametrize(
    ("stderr", "name"),
    [
        ("towerstrat.errors.UnknownSymbolError: tf.a.b_c is a name of TensorFlow 1.12", "tf.a.b_c"),
        ("  File\ntowerstrat.errors.UnsupportedError: Session.partial_run is not", "Session.partial_run"),
        ("towerstrat.errors.UnsupportedError: A loop in tf.f is refused; use tf.g.", "tf.f"),
        ("ValueError: tf.a.b is wrong", ""), ("", ""),
    ],
)  # fmt: skip
def test_an_error_says_where_a_program_stops(stderr, name):
    assert printed.stop(stderr) == name


PROGRAM = """
import sys
import tensorflow as tf
with tf.Session() as session:
    print("sum", session.run(tf.reduce_sum(tf.constant([1.0, 2.0]))))
"""


@pytest.mark.parametrize(
    ("last", "expected", "stops"),
    [
        ("", "sum 3.0", ""), ("", "sum 3.1", "differs: expected sum 3.1 | got sum 3.0"),
        ("tf.no_such_name", "sum 3.0", "differs: exit status 1"),
        ("tf.saved_model.simple_save()", "sum 3.0\nmore", "tf.saved_model.simple_save"),
        ("tf.saved_model.simple_save()", "sum 3.1\nmore", "differs: expected sum 3.1 | got sum 3.0"),
    ],
)  # fmt: skip
def test_what_becomes_of_a_program(tmp_path, last, expected, stops):
    (tmp_path / "expected").mkdir()
    (tmp_path / "program.py").write_text(PROGRAM + last)
    (tmp_path / "expected" / "program.txt").write_text(expected)
    program = printed.Kept("program", "1.12.3", "1", "1", stops=stops, folder=tmp_path)
    outcome = printed.outcome(program, original=False)
    assert outcome.stops == stops, outcome
    assert outcome.is_said_by(program)
    assert not outcome.is_said_by(program._replace(stops="tf.other"))


@pytest.mark.parametrize(("script", "what"), [("cases", "case"), ("programs", "program")])
def test_unknown_names_are_refused(script, what):
    done = subprocess.run(
        [sys.executable, printed.ROOT / "scripts" / script, "nothing"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert f"no such {what}: nothing" in done.stderr
