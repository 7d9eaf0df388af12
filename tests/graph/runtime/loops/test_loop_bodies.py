"""Bodies of compiled loops compared, of hand-written JAX: which loops have a step in common, and which have not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import towerstrat.compat.v1 as tf
from towerstrat.graph.runtime.loops.loop_bodies import differences


def step(weights, rows):
    def loss(weights):
        hidden = jnp.tanh(rows @ weights[0])
        logits = hidden @ weights[1]
        return jnp.mean(jax.nn.logsumexp(logits, 1) - logits[:, 0])

    return [w - 0.1 * g for w, g in zip(weights, jax.grad(loss)(weights), strict=True)], None


WEIGHTS = [np.full((6, 5), 0.1, np.float32), np.full((5, 3), 0.2, np.float32)]


def scan(length, unroll=1):
    return program(lambda w, xs: lax.scan(step, w, xs, unroll=unroll), length)


def told(room):
    def loop(w, xs, count):
        return lax.fori_loop(0, count, lambda i, w: step(w, lax.dynamic_index_in_dim(xs, i, 0, False))[0], w)

    return program(loop, room, np.int32(1))


def program(function, room, *more):
    return jax.jit(function).lower(WEIGHTS, np.zeros((room, 4, 6), np.float32), *more).compile()


def test_scans_of_any_length_and_told_loops_have_the_same_step():
    first = scan(3)
    assert differences(first, first) == []
    assert differences(first, scan(29)) == []
    assert differences(first, told(2)) == []


@pytest.mark.parametrize("other", ["unrolled", "selected", "straight", "rewritten"])
def test_another_step_is_told(other):
    def selected(w, xs):
        def body(w, x):
            new, _ = step(w, x)
            return [jnp.where(x[0, 0] > 0, n, o) for n, o in zip(new, w, strict=True)], None

        return lax.scan(body, w, xs)

    def rewritten(w, xs):
        def body(w, x):
            new, _ = step(w, x)
            return [n * 0.5 + o * 0.5 for n, o in zip(new, w, strict=True)], None

        return lax.scan(body, w, xs)

    made = {
        "unrolled": lambda: scan(4, 2),
        "selected": lambda: program(selected, 3),
        "straight": lambda: program(lambda w, xs: step(w, xs[0]), 3),
        "rewritten": lambda: program(rewritten, 3),
    }[other]()
    found = differences(scan(3), made)
    assert found
    assert all(line.startswith(("+ ", "- ")) for line in found)


@pytest.mark.xfail(
    jax.__version_info__ < (0, 12), strict=True, raises=AssertionError,
    reason="one of the loops alone knows that no check can fail, by compilers before that of 0.12",
)  # fmt: skip
def test_a_step_with_a_loop_in_it_is_the_same_in_both_loops():
    """Older compilers find out in one of two loops alone that no index of a loop inside can be out of range."""
    with tf.Graph().as_default(), tf.Session() as session:
        elements = tf.data.make_one_shot_iterator(tf.data.Dataset.range(6))
        weight = tf.Variable(1.0, use_resource=True)

        def body(i, total):
            x = tf.cast(elements.get_next(), tf.float32)
            doubled = tf.reduce_sum(tf.map_fn(lambda e: e * 2.0, tf.stack([x, x + 1.0])))
            with tf.control_dependencies([weight.assign_add(doubled * 0.3)]):
                return i + 1, total + x

        loop = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.constant(0.0)])
        session.run(tf.global_variables_initializer())
        assert session.run(loop)[1] == 3.0
