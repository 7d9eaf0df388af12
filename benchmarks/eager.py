"""What eager operations, calls of functions and tracing cost beside JAX.

    python -m benchmarks.eager

Each figure is the least of several samples: what else the machine does is not what is measured.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import towerstrat.compat.v2 as tf
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import Function

OPERATIONS = 200
"""Of the function whose tracing is measured."""


def fastest(call: Callable[[], Any], number: int = 2000, samples: int = 7) -> float:
    """Seconds a call takes."""
    call()
    best = float("inf")
    for _ in range(samples):
        start = time.perf_counter()
        for _ in range(number):
            call()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def operations() -> Iterator[str]:
    """Rows for single operations on warm caches."""
    yield "| operation | eagerly, us | jitted JAX, us |"
    yield "|---|---|---|"
    small, large = np.ones((4, 4), np.float32), np.ones((64, 128), np.float32)
    cases: list[tuple[str, Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = [
        ("add, [4, 4]", tf.add, jnp.add, (small, small)),
        ("add, [64, 128]", tf.add, jnp.add, (large, large)),
        ("matmul, [4, 4]", tf.matmul, jnp.matmul, (small, small)),
        ("reduce_sum, [64, 128]", lambda x: tf.reduce_sum(x, 1), lambda x: jnp.sum(x, 1), (large,)),
        ("softmax, [64, 128]", tf.nn.softmax, jax.nn.softmax, (large,)),
        ("reshape, [64, 128]", lambda x: tf.reshape(x, [128, 64]), lambda x: jnp.reshape(x, (128, 64)), (large,)),
        ("integer add", tf.add, jnp.add, (np.int32(1), np.int32(2))),
    ]
    for name, ours, theirs, arrays in cases:
        tensors = [tf.constant(a) + tf.zeros_like(a) for a in arrays]
        twin, given = jax.jit(theirs), [jnp.asarray(a) for a in arrays]
        mine = fastest(lambda ours=ours, tensors=tensors: ours(*tensors))
        other = fastest(lambda twin=twin, given=given: twin(*given))
        yield f"| {name} | {1e6 * mine:.1f} | {1e6 * other:.1f} |"
    variable = tf.Variable(small)
    yield f"| variable.assign_add, [4, 4] | {1e6 * fastest(lambda: variable.assign_add(small)):.1f} | |"


def calls() -> Iterator[str]:
    """Rows for calls of functions."""
    yield "| function | tf.function, us | jitted JAX, us | ours - JAX, us |"
    yield "|---|---|---|---|"
    x = np.ones((4, 4), np.float32)
    plain, jitted = tf.function(lambda x: x @ x + 1.0), jax.jit(lambda x: x @ x + 1.0)
    tensor, array = tf.constant(x) + 0.0 * tf.random.normal([4, 4]), jnp.asarray(x)
    yield _row("no variables", fastest(lambda: plain(tensor)), fastest(lambda: jitted(array)))
    variables = [tf.Variable(x) for _ in range(20)]

    def updating(x: Any) -> Any:
        for variable in variables:
            variable.assign_add(x)
        return x

    update = tf.function(updating)
    twin = jax.jit(lambda state, x: ([v + x for v in state], x), donate_argnums=0)
    state = [[jnp.asarray(x) for _ in range(20)]]

    def step() -> None:
        state[0], _ = twin(state[0], array)

    yield _row("20 variables assigned", fastest(lambda: update(tensor)), fastest(step))


def _row(name: str, ours: float, twin: float) -> str:
    return f"| {name} | {1e6 * ours:.1f} | {1e6 * twin:.1f} | {1e6 * (ours - twin):.1f} |"


def tracing() -> Iterator[str]:
    """Rows for the tracing of a function of many operations."""
    yield "| trace | ms |"
    yield "|---|---|"
    x = np.ones((4, 4), np.float32)

    def ours(x: Any) -> Any:
        for i in range(OPERATIONS // 2):
            x = tf.tanh(x) * float(i)
        return x

    def twin(x: Any) -> Any:
        for i in range(OPERATIONS // 2):
            x = jnp.tanh(x) * float(i)
        return x

    def trace() -> None:
        function: Function = tf.function(ours)
        function.get_concrete_function(tf.TensorSpec([4, 4], tf.float32))

    mine = fastest(trace, 5)
    other = fastest(lambda: jax.make_jaxpr(lambda x: twin(x))(x), 5)
    yield f"| tf.function of {OPERATIONS} operations | {1e3 * mine:.1f} |"
    yield f"| jax.make_jaxpr of the same | {1e3 * other:.1f} |"
    yield f"| ratio | {mine / other:.2f} |"


FIRST_USE = """
import time
import numpy as np
import towerstrat.compat.v2 as tf
from towerstrat.graph.eager import mode
mode.enable_eager_execution()
from benchmarks.eager import different
calls = different()
start = time.perf_counter()
for call in calls:
    result = call()
print(len(calls), time.perf_counter() - start)
"""


def different() -> list[Callable[[], Any]]:
    """One hundred small operations, no two of one type, attributes and signature."""
    x, y = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), tf.constant([[0.5, 1.5, 2.5], [1.0, 1.0, 1.0]])
    i, j, b = tf.constant([[1, 2, 3], [4, 5, 6]]), tf.constant([[3, 1, 2], [2, 2, 2]]), tf.constant([True, False, True])
    n = tf.nn
    return [
        lambda: x + y, lambda: x - y, lambda: x * y, lambda: x / y, lambda: x // y, lambda: x % y, lambda: x**2.0,
        lambda: -x, lambda: abs(x), lambda: x > y, lambda: x >= y, lambda: x < y, lambda: x <= y,
        lambda: tf.equal(x, y),
        lambda: tf.not_equal(x, y), lambda: tf.maximum(x, y), lambda: tf.minimum(x, y), lambda: tf.sqrt(x),
        lambda: tf.exp(x), lambda: tf.math.log(x), lambda: tf.sin(x), lambda: tf.cos(x), lambda: tf.tanh(x),
        lambda: tf.sigmoid(x), lambda: tf.square(x), lambda: tf.math.rsqrt(x), lambda: tf.math.reciprocal(x),
        lambda: tf.round(x), lambda: tf.floor(x), lambda: tf.math.ceil(x), lambda: tf.sign(x), lambda: n.relu(x),
        lambda: n.softmax(x), lambda: n.log_softmax(x), lambda: n.softplus(x), lambda: n.elu(x),
        lambda: n.leaky_relu(x),
        lambda: tf.matmul(x, y, transpose_b=True), lambda: tf.transpose(x), lambda: tf.reshape(x, [3, 2]),
        lambda: tf.reduce_sum(x), lambda: tf.reduce_mean(x), lambda: tf.reduce_max(x), lambda: tf.reduce_min(x),
        lambda: tf.reduce_prod(x), lambda: tf.reduce_sum(x, 0), lambda: tf.reduce_mean(x, 1), lambda: tf.argmax(x, 1),
        lambda: tf.argmin(x, 0), lambda: tf.concat([x, y], 0), lambda: tf.stack([x, y]), lambda: tf.unstack(x),
        lambda: tf.split(x, 3, 1), lambda: tf.expand_dims(x, 0), lambda: tf.squeeze(x[:1]), lambda: x[0],
        lambda: x[:, 1],
        lambda: tf.gather(x, [1, 0]), lambda: tf.gather_nd(x, [[0, 1]]), lambda: tf.one_hot([0, 2], 3),
        lambda: tf.cast(x, tf.int32), lambda: tf.cast(i, tf.float32), lambda: tf.zeros_like(x), lambda: tf.ones_like(i),
        lambda: tf.fill([2, 2], 3.0), lambda: tf.range(5), lambda: tf.tile(x, [2, 1]),
        lambda: tf.pad(x, [[1, 1], [0, 0]]),
        lambda: tf.where(x > y, x, y), lambda: tf.clip_by_value(x, 1.5, 3.5), lambda: tf.reduce_all(b),
        lambda: tf.reduce_any(b), lambda: tf.logical_and(b, b), lambda: tf.logical_or(b, b), lambda: tf.logical_not(b),
        lambda: i + j, lambda: i - j, lambda: i * j, lambda: i // j, lambda: i % j, lambda: tf.reduce_sum(i),
        lambda: tf.reduce_max(i, 1), lambda: tf.maximum(i, j), lambda: i > j, lambda: tf.equal(i, j), lambda: -i,
        lambda: tf.shape(x), lambda: tf.size(x), lambda: tf.rank(x), lambda: tf.cumsum(x), lambda: tf.math.top_k(x, 2),
        lambda: tf.reverse(x, [0]), lambda: tf.linalg.norm(x), lambda: tf.math.squared_difference(x, y),
        lambda: n.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=x), lambda: n.l2_loss(x),
        lambda: tf.reduce_logsumexp(x), lambda: tf.math.is_nan(x), lambda: tf.broadcast_to(x, [2, 2, 3]),
        lambda: tf.tensordot(x, y, [[1], [1]]),
    ]  # fmt: skip


def first_use() -> Iterator[str]:
    """Rows for what operations cost the first time, in processes of their own."""
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, check=True)
        count, seconds = done.stdout.split()
        found.append(float(seconds))
    yield f"First use of {count} different small operations: {min(found):.2f} s."


def main() -> None:
    """Prints the tables."""
    with mode.eager_mode():
        for table in (operations(), calls(), tracing(), first_use()):
            for line in table:
                print(line, flush=True)
            print()


if __name__ == "__main__":
    main()
