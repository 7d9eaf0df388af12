"""A program of sums of products that jaxlib 0.10.2 compiles wrongly: prints by how much each is off, as JSON.

With ``library`` as its argument it imports towerstrat itself; with ``child`` it starts itself once more.
"""

import itertools
import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np

SHAPES = [(5, 1000, 2), (5, 512, 2), (5, 1000, 8), (5, 1000, 64)]


def given(count, length, inner):
    rng = np.random.RandomState(1)
    small = rng.randint(-3, 4, (count, inner, inner)).astype(np.float32)
    return small, rng.randint(-3, 4, (length, inner)).astype(np.float32)


def expected(small, long):
    return (small @ long.T).sum(1)


def off(found, wanted):
    return float(np.abs(np.asarray(found) - wanted).max())


def summed(tf, small, long):
    """Each small matrix times the long one, which is repeated for each of them and transposed; summed."""
    repeated = tf.tile(long[None], [small.shape[0], 1, 1])
    return tf.reduce_sum(tf.matmul(small, repeated, transpose_b=True), 1)


def jax_summed(small, long):
    repeated = jnp.broadcast_to(long, (len(small), *long.shape))
    return jnp.sum(jnp.matmul(small, jnp.swapaxes(repeated, -1, -2)), 1)


def quadrature(tf, session):
    """The expectation of |x|^2 for Gaussians, by Gauss and Hermite: as found in a program."""
    rng, count, size, points = np.random.RandomState(1), 5, 2, 100
    mean, root = rng.randn(count, size), rng.randn(count, size, size)
    covariance = root @ root.transpose(0, 2, 1)
    at, weights = np.polynomial.hermite.hermgauss(points)
    at = np.array(list(itertools.product(*(at,) * size)))
    weights = np.prod(np.array(list(itertools.product(*(weights,) * size))), 1) * np.pi ** (-size * 0.5)
    x = tf.matmul(tf.cholesky(tf.constant(covariance)), tf.tile(at[None], [count, 1, 1]), transpose_b=True)
    x = 2.0**0.5 * x + tf.expand_dims(tf.constant(mean), 2)
    squares = tf.reduce_sum(tf.square(tf.reshape(tf.transpose(x, [2, 0, 1]), (-1, size))), 1)
    found = session.run(tf.reduce_sum(tf.reshape(squares, (points**size, count)) * weights.reshape(-1, 1), 0))
    difference = off(found, (mean**2).sum(1) + np.trace(covariance, axis1=1, axis2=2))
    return difference if difference > 1e-6 else 0.0


def errors_of(tf, shape):
    """Those of one shape."""
    found = {}
    small, long = given(*shape)
    wanted = expected(small, long)
    with tf.Graph().as_default(), tf.Session() as session:
        s, x = tf.placeholder(tf.float32, small.shape), tf.placeholder(tf.float32, long.shape)
        total = summed(tf, s, x)
        called = tf.contrib.eager.defun(lambda s, x: summed(tf, s, x))(s, x)
        in_loop = tf.map_fn(lambda i: summed(tf, s + 0 * tf.cast(i, tf.float32), x), tf.range(2), tf.float32)
        mapped = tf.data.Dataset.from_tensors((small, long)).map(lambda s, x: summed(tf, s, x))
        strategy = tf.contrib.distribute.MirroredStrategy()
        with strategy.scope():
            towers = strategy.unwrap(strategy.call_for_each_tower(lambda: summed(tf, s, x)))
        own = tf.py_func(lambda s, x: np.asarray(jax.jit(jax_summed)(s, x)), [s, x], tf.float32)
        ways = {
            "graph": total, "called": called, "loop": in_loop[0], "towers": towers[-1], "py_func": own,
            "map": mapped.make_one_shot_iterator().get_next(),
        }  # fmt: skip
        for way, tensor in ways.items():
            found[f"{way} {shape}"] = off(session.run(tensor, {s: small, x: long}), wanted)
        gradient = session.run(tf.gradients(tf.square(total), x)[0], {s: small, x: long})
        by_hand = 2 * np.einsum("bk,bdi->ki", wanted.astype(np.float64), small)
        found[f"gradient {shape}"] = off(gradient, by_hand)
    return found


def errors(tf):
    """The largest errors in graphs, by way; ``py_func`` is JAX's own ``jit`` in a program."""
    found = {}
    for shape in SHAPES:
        found |= errors_of(tf, shape)
    with tf.Graph().as_default(), tf.Session() as session:
        found["quadrature"] = quadrature(tf, session)
    return found


def errors_at_once(tf):
    """Those of 2.x: operation by operation, in functions, and the gradient of both."""
    found = {}
    for shape in SHAPES:
        small, long = given(*shape)
        s, x = tf.constant(small), tf.constant(long)
        by_hand = 2 * np.einsum("bk,bdi->ki", expected(small, long).astype(np.float64), small)
        for way, function in {"eager": summed, "function": tf.function(summed)}.items():
            with tf.GradientTape() as tape:
                tape.watch(x)
                total = function(tf, s, x)
                square = tf.square(total)
            found[f"{way} {shape}"] = off(total, expected(small, long))
            found[f"{way} gradient {shape}"] = off(tape.gradient(square, x), by_hand)
    return found


def main():
    if "child" in sys.argv:
        subprocess.run([sys.executable, __file__], check=True)
        return
    if "library" in sys.argv:
        import towerstrat.compat.v1 as tf
    else:
        import tensorflow as tf
    print(json.dumps(errors(tf)))


if __name__ == "__main__":
    main()
