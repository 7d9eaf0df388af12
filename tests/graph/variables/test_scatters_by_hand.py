"""Rows, entries and slices of variables that are changed, against numpy's functions that change in place."""

import operator

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

START = np.array([[1.0, -2.0, 0.5], [4.0, 3.0, -1.0], [-1.5, 0.25, 2.0]], np.float32)
ROWS = np.array([2, 0, 2])
UPDATES = np.array([[0.5, 4.0, -2.0], [2.0, -0.5, 1.5], [-3.0, 0.75, 0.5]], np.float32)
PLACES = np.array([[1, 2], [0, 0], [1, 2]])
ENTRIES = np.array([0.5, -1.5, 2.0], np.float32)

SCATTERS = {
    "add": operator.iadd,
    "sub": operator.isub,
    "mul": operator.imul,
    "div": operator.itruediv,
    "max": np.maximum,
    "min": np.minimum,
    "update": lambda old, new: new,
}


def changed(name, places, updates):
    value = START.copy()
    for place, update in zip(places, updates, strict=True):
        value[place] = SCATTERS[name](value[place], update)
    return value


def run(change):
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(START, use_resource=True)
        session.run(variable.initializer)
        session.run(change(variable))
        return session.run(variable)


@pytest.mark.parametrize("name", SCATTERS)
def test_rows(name):
    scatter = getattr(tf, f"scatter_{name}")
    found = run(lambda v: scatter(v, ROWS, UPDATES))
    np.testing.assert_allclose(found, changed(name, ROWS, UPDATES), rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "sub", "update"])
def test_entries(name):
    scatter = getattr(tf, f"scatter_nd_{name}")
    found = run(lambda v: scatter(v, PLACES, ENTRIES))
    np.testing.assert_allclose(found, changed(name, [tuple(p) for p in PLACES], ENTRIES), rtol=1e-6)


def test_a_slice():
    found = run(lambda v: v[1:, ::2].assign(UPDATES[:2, :2]))
    wanted = START.copy()
    wanted[1:, ::2] = UPDATES[:2, :2]
    np.testing.assert_array_equal(found, wanted)
