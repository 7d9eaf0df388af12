"""Bodies of compiled loops compared, of hand-written JAX: which loops have a step in common, and which have not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

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
