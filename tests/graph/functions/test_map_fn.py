"""``map_fn``, ``scan``, ``foldl``, ``foldr`` beyond the goldens: any length, structures, along an axis, on one scan."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.control_flow_namespace import namespace
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.collectives.all_reduce import position, select

tf = namespace()


@given(values=st.lists(st.integers(-3, 3), max_size=5), reverse=st.booleans())
def test_loops_over_rows_are_what_python_does(values, reverse):
    data = np.array(values, np.float32)
    with Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        mapped = tf.map_fn(lambda e: (e * e, tf.cast(e, tf.int32)), x, dtype=(tf.float32, tf.int32))
        scanned = tf.scan(lambda a, e: a * 2.0 + e, x, initializer=tf.constant(1.0), reverse=reverse)
        folded = [fold(lambda a, e: a * 2.0 + e, x, initializer=tf.constant(1.0)) for fold in (tf.foldl, tf.foldr)]
        grads = [tf.gradients(y, x)[0] for y in (mapped[0], *folded)]
        found = session.run([mapped, scanned, folded, grads], {x: data})
        assert mapped[0].shape.as_list() == scanned.shape.as_list() == [None]

    def fold(rows):
        steps, a = [], 1.0
        for row in rows:
            a = a * 2 + row
            steps.append(a)
        return steps

    wanted = fold(data[::-1])[::-1] if reverse else fold(data)
    np.testing.assert_array_equal(found[0][0], data * data)
    np.testing.assert_array_equal(found[0][1], data.astype(np.int32))
    np.testing.assert_allclose(found[1], wanted)
    np.testing.assert_allclose(found[2], [([1.0, *fold(data)])[-1], ([1.0, *fold(data[::-1])])[-1]])
    powers = 2.0 ** np.arange(len(data))
    for gradient, slope in zip(found[3], (2 * data, powers[::-1], powers), strict=True):
        np.testing.assert_allclose(gradient, slope)


def test_structures_of_rows():
    with tf.Session() as session:
        x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([10.0, 20.0])
        made = tf.map_fn(
            lambda e: {"sum": e["a"] + e["b"], "b": e["b"]}, {"a": x, "b": y}, {"sum": tf.float32, "b": tf.float32}
        )
        one = tf.scan(lambda a, e: (a[0] + e[0], a[1]), (x, x))
        found = session.run([made["sum"], made["b"], one[0], one[1]])
    np.testing.assert_array_equal(found[0], [[11, 12], [23, 24]])
    np.testing.assert_array_equal(found[1], [10, 20])
    np.testing.assert_array_equal(found[2], [[1, 2], [4, 6]])
    np.testing.assert_array_equal(found[3], [[1, 2], [1, 2]])


@pytest.mark.parametrize("function", [tf.map_fn, tf.scan, tf.foldl, tf.foldr])
def test_what_is_refused(function):
    with pytest.raises(TypeError, match="callable"):
        function(1, tf.constant([1.0]))
    with pytest.raises(ValueError, match="not a scalar"):
        function(lambda *args: args[0], tf.constant(1.0))
    with pytest.raises(ValueError, match=r"not compatible|incompatible"):
        function(lambda *args: args[0], (tf.zeros([2]), tf.zeros([3])))


def test_results_unlike_what_was_said():
    with pytest.raises(ValueError, match="structure"):
        tf.map_fn(lambda e: (e, e), tf.constant([1.0]))
    with pytest.raises(TypeError, match="int32 value"):
        tf.map_fn(lambda e: e, tf.constant([1.0]), dtype=tf.int32)


def test_along_an_axis():
    axis = Axis("tower", jax.devices()[:4])
    x, v = tf.constant([1.0, 2.0, 3.0]), tf.Variable(2.0)
    with get_default_graph().under(axis):
        i = tf.cast(position(axis), tf.float32)
        mapped = tf.map_fn(lambda e: e * i * v, x)
        scanned = tf.scan(lambda a, e: a + e, x)
        (g,) = tf.gradients(mapped, v)
    assert mapped.varies
    assert not scanned.varies
    with tf.Session() as session:
        session.run(v.initializer)
        found = session.run([scanned, *(select(t, axis, k) for t in (mapped, g) for k in range(4))])
    np.testing.assert_array_equal(found[0], [1, 3, 6])
    np.testing.assert_array_equal(found[1:5], [np.array([2, 4, 6]) * k for k in range(4)])
    np.testing.assert_array_equal(found[5:], [6 * k for k in range(4)])


def test_a_differentiated_map_is_one_scan_without_whole_arrays():
    """What an iteration's gradient adds to must not be as large as the array that is walked through."""
    x = tf.placeholder(tf.float32, [64, 8])
    (g,) = tf.gradients(tf.scan(lambda a, e: tf.tanh(a + e), x), x)
    with tf.Session() as session:
        session.run(g, {x: np.ones((64, 8))})
        ((_, _, plan, _),) = session._plans.values()
        (program,) = (p for stage in plan.stages for p in stage.compiled.programs)
        text = program.compiled.as_text()
    inside = [line for line in text.splitlines() if "/while/body" in line]
    assert inside
    assert [line for line in inside if "f32[64,8]" in line] == []
