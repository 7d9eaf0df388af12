"""Axes and counts are taken in the forms that the original takes, and mean the same."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from towerstrat.graph.ir.integer_arguments import integer, integers

FOLDER = Path(__file__).parents[3] / "golden"
sys.path.insert(0, str(FOLDER))
from forms_cases import CALLS, outcome  # noqa: E402

GOLDEN = json.loads((FOLDER / "forms.json").read_text())
NO_INTEGER = {"1.0", "1.5", "np.float32(1)", "True", "np.bool_(True)", "'1'", "tf.constant(1.0)"}
"""Numbers of another type, which the original takes here and there; lengths of one element in arrays, likewise."""
ARRAYS = {"np.array(1)", "np.array([1])"}
REFUSED = {
    "softmax": {"7"},  # an axis that is not there
    "log_softmax": {"7"},
    "transpose": {"[tf.constant(0), 1]"},
    "zeros": {"range(2)"},
    "ones": {"range(2)"},
    "ksize": {"-1"},
    "bincount": {f for f in GOLDEN["bincount"] if f.startswith(("[", "(", "tf.constant(["))},
    "layers flatten axis": {"[np.int64(1)]"},
    "variable": {"range(2)"},
}
"""What the original takes besides, and ours does not."""
SHAPES = {"fill", "reshape", "tile", "broadcast_to", "random_uniform", "placeholder", "slice size", "zeros", "ones"}
"""Calls that take a shape: here a single number too."""
STRICT = {"expand_dims", "concat", "argmax", "argmin dimension", "cumsum", "cumprod", "reduce_sum", "reduce_max",
          "reduce_all", "reduce_logsumexp", "count_nonzero", "l2_normalize", "norm", "reverse", "clip_by_norm",
          "accumulated", "keep", "tensordot"}  # fmt: skip
"""Calls that refuse all that the original refuses; but a range is a list of axes."""


@spread("name", list(CALLS), every=3)
def test_what_the_original_takes_means_the_same(name):
    for form, wanted in GOLDEN[name].items():
        if wanted == ["error"]:
            continue
        found = outcome(tf, CALLS[name], form)
        if form in NO_INTEGER | ARRAYS | REFUSED.get(name, set()) and found == ["error"]:
            continue
        assert found == wanted, form


@pytest.mark.parametrize("name", sorted(STRICT))
def test_what_the_original_refuses_is_refused(name):
    for form, wanted in GOLDEN[name].items():
        if wanted == ["error"] and form != "range(2)":
            assert outcome(tf, CALLS[name], form) == ["error"], form


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (np.int64(-1), -1), (np.array(2), 2), (tf.Dimension(4), 4), (True, 1), (np.float32(2), 2)],
)
def test_one_integer(value, expected):
    assert integer(value) == expected
    assert integers(value) == (expected,)
    assert integer([value], listed=True) == expected
    assert integers([value, 5]) == (expected, 5)


@pytest.mark.parametrize("value", [1.5, 1.0, "1", [1], np.array([1]), None, np.float32(1.5), object()])
def test_what_is_no_integer_is_named(value):
    with pytest.raises((TypeError, ValueError), match="depth"):
        integer(value, "depth")


def test_constant_tensors_count_and_others_are_refused():
    assert integer(tf.constant(2)) == 2
    assert integers(tf.constant([0, 2])) == (0, 2)
    assert integers(None) is None
    assert integers(tf.TensorShape([1, 2])) == (1, 2)
    with pytest.raises(ValueError, match="pass integers"):
        integer(tf.placeholder(tf.int32, []))
    with pytest.raises(TypeError, match="Expected integers for axis"):
        integers(tf.constant(1.0))
    with pytest.raises(TypeError, match="Expected integers for axis"):
        integers(np.ones([1, 1], int))


def test_variables_may_be_empty():
    with tf.Session() as session:
        made = [tf.get_variable("a", [0, 2], initializer=tf.ones_initializer()), tf.constant(1.0, shape=[0])]
        session.run(tf.global_variables_initializer())
        assert [v.shape for v in session.run(made)] == [(0, 2), (0,)]
