"""A call with a misspelt argument says which one was meant, and a misspelt name is corrected once."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("line", "meant", "said"),
    [
        ("tf.layers.dense(tf.zeros([2, 3]), 4, activaton=None)", "activation", "tf.layers.dense takes inputs, "),
        ("tf.train.AdamOptimizer(learning_rat=1.0)", "learning_rate", "tf.train.AdamOptimizer takes learning_rate, "),
        ("tf.placehoder(tf.float32)", None, "The nearest name here is tf.placeholder."),
    ],
)
def test_the_nearest_is_named_once(tmp_path, line, meant, said):
    program = tmp_path / "old.py"
    program.write_text(f"import tensorflow as tf\n{line}\n")
    command = [sys.executable, "-m", "towerstrat", "run", "--quiet", "--api", "1", str(program)]
    errors = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert said in errors
    assert errors.count("Did you mean") == errors.count(f"Did you mean {meant!r}?") == (meant is not None)


def test_lists_of_results_print_as_numpy_1_printed_them(tmp_path):
    program = tmp_path / "old.py"
    program.write_text(
        "import tensorflow as tf\nprint(tf.Session().run([tf.constant(6.0), (tf.constant(True), tf.constant(3))]))\n"
    )
    command = [sys.executable, "-m", "towerstrat", "run", "--quiet", "--api", "1", str(program)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[6.0, (True, 3)]\n"
