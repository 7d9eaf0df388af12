"""What the TPU compiler makes of a loop inside of a training step, beside the ``lax.scan`` that one would write.

    python -m benchmarks.tpu_loops [--kinds while_loop,fed,...] [--lengths 16,65,256,1024] [--dtypes float32,...]
        [--chips 1] [--json]

Needs ``jax[tpu]``; see ``benchmarks/tpu_compile.py``. Figures are of ten steps of gradient descent. A loop whose length
the data say ("fed", within a bound of the next power of two) cannot be a scan: its twin is a pair of ``while`` loops
with a gradient written by hand. Of such loops, on both sides, the compiler counts one iteration.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.tpu_compile import STEPS, devices, figures  # first: it sets the environment  # isort: skip
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import SingleDeviceSharding

import towerstrat.compat.v1 as tf
from benchmarks.harness import Ours, Twin, Workload
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop

BATCH, WIDTH, LAYERS = 256, 512, 4
LENGTHS = (16, 65, 256, 1024)
RATE = 0.1


class Kind(NamedTuple):
    """A model with a loop.

    Attributes:
      ours: (inputs, count, length) -> a tensor, of variables that it makes; twin: (parameters, inputs, length), or
        (parameters, inputs, length, count).
      shapes: of the variables, by name. of_time: whether inputs are ``[batch, time, width]``.
      fed: whether ``count``, a tensor, says how many iterations there are.
    """

    ours: Callable[[Any, Any, int], Any]
    twin: Callable[..., Any]
    shapes: dict[str, tuple[int, ...]]
    of_time: bool = False
    fed: bool = False


def bound(length: int) -> int:
    return 1 << (length - 1).bit_length()


def weights(x: Any, name: str = "w", width: int = WIDTH) -> Any:
    return tf.get_variable(name, [WIDTH, width], x.dtype)


def alike(value: Any, other: Any) -> Any:
    """A value that varies over the chips as another does."""
    axes = tuple(jax.typeof(other).manual_axis_type.varying)
    return lax.pcast(value, axes, to="varying") if axes else value


def zeros(like: Any) -> Any:
    return alike(jnp.zeros(like.shape, like.dtype), like)


def while_loop(x: Any, count: Any, length: int) -> Any:
    w = weights(x)
    return tf.while_loop(lambda i, h: i < length, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, x])[1]


def int64_counter(x: Any, count: Any, length: int) -> Any:
    w, start = weights(x), tf.constant(0, tf.int64)
    return tf.while_loop(
        lambda i, s, h: i < length, lambda i, s, h: (i + 1, s + i, tf.tanh(tf.matmul(h, w))), [start, start, x]
    )[2]


def fed(x: Any, count: Any, length: int) -> Any:
    w = weights(x)
    return tf.while_loop(
        lambda i, h: i < count, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, x], maximum_iterations=bound(length)
    )[1]


def recurrent(params: Any, x: Any, length: int) -> Any:
    return lax.scan(lambda h, _: (jnp.tanh(h @ params["w"]), None), x, None, length=length)[0]


def nested(x: Any, count: Any, length: int) -> Any:
    w = weights(x)
    inner = lambda h: tf.while_loop(lambda i, h: i < 8, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, h])[1]  # noqa: E731
    return tf.while_loop(lambda i, h: i < length // 8, lambda i, h: (i + 1, inner(h)), [0, x])[1]


def nested_twin(params: Any, x: Any, length: int) -> Any:
    return lax.scan(lambda h, _: (recurrent(params, h, 8), None), x, None, length=length // 8)[0]


def branch(x: Any, count: Any, length: int) -> Any:
    return tf.cond(count > 0, lambda: while_loop(x, count, length), lambda: x)


def branch_twin(params: Any, x: Any, length: int) -> Any:
    return lax.cond(x[0, 0] < 1e30, lambda x: recurrent(params, x, length), lambda x: x, x)


def time_first(x: Any) -> Any:
    return tf.transpose(x, [1, 0, 2])


def map_fn(x: Any, count: Any, length: int) -> Any:
    w, u = weights(x), weights(x, "u")
    return tf.map_fn(lambda row: tf.matmul(tf.nn.relu(tf.matmul(row, w)), u), time_first(x))


def map_twin(params: Any, x: Any, length: int) -> Any:
    return lax.map(lambda row: jax.nn.relu(row @ params["w"]) @ params["u"], jnp.swapaxes(x, 0, 1))


def scan(x: Any, count: Any, length: int) -> Any:
    w, rows = weights(x), time_first(x)
    return tf.scan(lambda h, row: tf.tanh(tf.matmul(h, w) + row), rows, tf.zeros_like(rows[0]))


def arrays(x: Any, count: Any, length: int) -> Any:
    w = weights(x)
    rows = tf.TensorArray(x.dtype, length).unstack(time_first(x))

    def step(i: Any, h: Any, made: Any) -> Any:
        h = tf.tanh(tf.matmul(h, w) + rows.read(i))
        return i + 1, h, made.write(i, h)

    start = [0, tf.zeros_like(x[:, 0]), tf.TensorArray(x.dtype, length)]
    return tf.while_loop(lambda i, *_: i < length, step, start)[2].stack()


def fed_arrays(x: Any, count: Any, length: int) -> Any:
    w = weights(x)
    rows = tf.TensorArray(x.dtype, length).unstack(time_first(x))

    def step(i: Any, h: Any, made: Any) -> Any:
        h = tf.tanh(tf.matmul(h, w) + rows.read(i))
        return i + 1, h, made.write(i, h)

    start = [0, tf.zeros_like(x[:, 0]), tf.TensorArray(x.dtype, length, element_shape=[BATCH, WIDTH])]
    return tf.while_loop(lambda i, *_: i < count, step, start, maximum_iterations=length)[2].stack()


def scan_twin(params: Any, x: Any, length: int) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = jnp.tanh(h @ params["w"] + row)
        return h, h

    rows = jnp.swapaxes(x, 0, 1)
    return lax.scan(step, zeros(rows[0]), rows)[1]


def fed_twin(params: Any, x: Any, length: int, count: Any) -> Any:
    return by_hand(params["w"], x, None, count, bound(length))[0]


def fed_scan_twin(params: Any, x: Any, length: int, count: Any) -> Any:
    rows = jnp.swapaxes(x, 0, 1)
    return by_hand(params["w"], zeros(rows[0]), rows, count, length)[1]


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def by_hand(w: Any, x: Any, rows: Any, count: Any, bound: int) -> Any:
    """``h = tanh(h @ w + row)`` from ``x`` on: the last ``h`` and all of them, zeros after the last."""
    return _by_hand_forward(w, x, rows, count, bound)[0]


def _by_hand_forward(w: Any, x: Any, rows: Any, count: Any, bound: int) -> Any:
    def step(state: Any) -> Any:
        i, h, before, made = state
        new = h @ w if rows is None else h @ w + lax.dynamic_index_in_dim(rows, i, 0, False)
        new = jnp.tanh(new)
        put = partial(lax.dynamic_update_index_in_dim, index=i, axis=0)
        return i + 1, new, put(before, h), put(made, new)

    stacks = [make((bound, *x.shape), x.dtype) for make in (lax.empty, lax.empty if rows is None else jnp.zeros)]
    start = alike(jnp.int32(0), count), x, *(alike(stack, x) for stack in stacks)
    n, h, before, made = lax.while_loop(lambda s: (s[0] < count) & (s[0] < bound), step, start)
    return (h, made), (w, rows, n, before, made)


def _by_hand_backward(bound: int, residuals: Any, cotangents: Any) -> Any:
    w, rows, n, before, made = residuals
    last, of_made = cotangents

    def step(state: Any) -> Any:
        done, of_w, of_h, of_rows = state
        i = n - 1 - done
        at = lambda stack: lax.dynamic_index_in_dim(stack, i, 0, False)  # noqa: E731
        y = at(made)
        g = (of_h if rows is None else of_h + at(of_made)) * (1 - y * y)
        if rows is not None:
            of_rows = lax.dynamic_update_index_in_dim(of_rows, g, i, 0)
        return done + 1, of_w + at(before).T @ g, g @ w.T, of_rows

    start = alike(jnp.int32(0), n), zeros(w), last, None if rows is None else zeros(rows)
    _, of_w, of_x, of_rows = lax.while_loop(lambda s: s[0] < n, step, start)
    return of_w, of_x, of_rows, None


by_hand.defvjp(_by_hand_forward, _by_hand_backward)


def dynamic_rnn(x: Any, count: Any, length: int) -> Any:
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(WIDTH), x, dtype=x.dtype)[0]


def rnn_twin(params: Any, x: Any, length: int) -> Any:
    def step(h: Any, row: Any) -> Any:
        h = jnp.tanh(jnp.concatenate([row, h], 1) @ params["w"] + params["b"])
        return h, h

    rows = jnp.swapaxes(x, 0, 1)
    return jnp.swapaxes(lax.scan(step, zeros(rows[0]), rows)[1], 0, 1)


def lstm(x: Any, count: Any, length: int) -> Any:
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(WIDTH), x, dtype=x.dtype)[0]


def lstm_step(params: Any, state: Any, row: Any) -> Any:
    c, h = state
    i, j, f, o = jnp.split(jnp.concatenate([row, h], 1) @ params["w"] + params["b"], 4, 1)
    c = c * jax.nn.sigmoid(f + 1) + jax.nn.sigmoid(i) * jnp.tanh(j)
    h = jnp.tanh(c) * jax.nn.sigmoid(o)
    return (c, h), h


def lstm_twin(params: Any, x: Any, length: int) -> Any:
    rows = jnp.swapaxes(x, 0, 1)
    start = zeros(rows[0])
    return jnp.swapaxes(lax.scan(partial(lstm_step, params), (start, start), rows)[1], 0, 1)


def seq2seq(x: Any, count: Any, length: int) -> Any:
    """An encoder, and a decoder that is given the inputs, as in training."""
    _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(WIDTH), x, dtype=x.dtype, scope="encoder")
    decoder = tf.nn.rnn_cell.BasicLSTMCell(WIDTH)
    return tf.nn.dynamic_rnn(decoder, x, initial_state=state, scope="decoder")[0]


def seq2seq_twin(params: Any, x: Any, length: int) -> Any:
    rows = jnp.swapaxes(x, 0, 1)
    start = zeros(rows[0])
    state, _ = lax.scan(partial(lstm_step, {"w": params["w"], "b": params["b"]}), (start, start), rows)
    return jnp.swapaxes(lax.scan(partial(lstm_step, {"w": params["u"], "b": params["c"]}), state, rows)[1], 0, 1)


def recomputed(x: Any, count: Any, length: int) -> Any:
    """No loop: layers whose activations are computed again."""

    @tf.contrib.layers.recompute_grad
    def block(h: Any) -> Any:
        inner = tf.tanh(tf.matmul(tf.tanh(h), weights(h, "w", 4 * WIDTH)))
        return h + tf.matmul(inner, tf.get_variable("u", [4 * WIDTH, WIDTH], h.dtype))

    h = tf.reshape(x, [-1, WIDTH])
    for layer in range(LAYERS):
        with tf.variable_scope(f"layer_{layer}", use_resource=True):
            h = block(h)
    return h


def recomputed_twin(params: Any, x: Any, length: int) -> Any:
    @jax.checkpoint
    def block(h: Any, w: Any, u: Any) -> Any:
        return h + jnp.tanh(jnp.tanh(h) @ w) @ u

    h = x.reshape(-1, WIDTH)
    for layer in range(LAYERS):
        h = block(h, params[f"w{layer}"], params[f"u{layer}"])
    return h


SQUARE = {"w": (WIDTH, WIDTH)}
BLOCKS = {f"w{i}": (WIDTH, 4 * WIDTH) for i in range(LAYERS)} | {f"u{i}": (4 * WIDTH, WIDTH) for i in range(LAYERS)}
CELL = {"w": (2 * WIDTH, 4 * WIDTH), "b": (4 * WIDTH,)}
KINDS = {
    "while_loop": Kind(while_loop, recurrent, SQUARE),
    "int64": Kind(int64_counter, recurrent, SQUARE),
    "fed": Kind(fed, fed_twin, SQUARE, fed=True),
    "nested": Kind(nested, nested_twin, SQUARE),
    "cond": Kind(branch, branch_twin, SQUARE),
    "map_fn": Kind(map_fn, map_twin, {**SQUARE, "u": (WIDTH, WIDTH)}, of_time=True),
    "scan": Kind(scan, scan_twin, SQUARE, of_time=True),
    "TensorArray": Kind(arrays, scan_twin, SQUARE, of_time=True),
    "fed_TensorArray": Kind(fed_arrays, fed_scan_twin, SQUARE, of_time=True, fed=True),
    "dynamic_rnn": Kind(dynamic_rnn, rnn_twin, {"w": (2 * WIDTH, WIDTH), "b": (WIDTH,)}, of_time=True),
    "lstm": Kind(lstm, lstm_twin, CELL, of_time=True),
    "recompute_grad": Kind(recomputed, recomputed_twin, BLOCKS, of_time=True),
    "seq2seq": Kind(seq2seq, seq2seq_twin, {**CELL, "u": CELL["w"], "c": CELL["b"]}, of_time=True),
}


def workload(kind: Kind, length: int, dtype: str) -> Workload:
    """Descent of the mean square of what the loop gives."""
    element = jnp.dtype(dtype)
    size = (length, WIDTH) if kind.of_time else (WIDTH,)
    inputs = np.zeros((BATCH, *size), element)
    counts = np.full((BATCH,), length, np.int32)
    initial = {name: np.zeros(shape, element) for name, shape in kind.shapes.items()}

    def loss(inputs: Any, counts: Any, initial: Any) -> Any:
        return tf.cast(tf.reduce_mean(tf.square(kind.ours(inputs, counts[0], length))), tf.float32)

    def twin(params: Any, inputs: Any, counts: Any) -> Any:
        return kind.twin(params, inputs, length, *((counts[0],) if kind.fed else ()))

    def update(state: Any, grads: Any) -> Any:
        return {"params": jax.tree.map(lambda p, g: p - jnp.asarray(RATE, p.dtype) * g, state["params"], grads)}

    return Workload(
        "loop", BATCH, lambda: (inputs, counts), initial, loss, lambda: tf.train.GradientDescentOptimizer(RATE),
        lambda params: {"params": params},
        lambda params, inputs, counts: jnp.mean(jnp.square(twin(params, inputs, counts))).astype(jnp.float32), update,
    )  # fmt: skip


def lowered(side: str, work: Workload, chips: list[Any]) -> jax.stages.Lowered:
    if side == "ours":
        return lower_loop(Ours(work, chips, STEPS).loop, STEPS)
    twin = Twin(work, chips, STEPS, "scan")
    if len(chips) > 1:
        return twin.function.lower(*twin.abstract())
    chip = SingleDeviceSharding(chips[0])
    return jax.jit(twin._many, donate_argnums=0, in_shardings=chip, out_shardings=chip).lower(*twin.abstract())


def row(kind: Kind, length: int, dtype: str, chips: list[Any]) -> dict[str, Any]:
    """Flops, bytes and bytes of temporaries of both sides."""
    return {side: _figures(side, kind, length, dtype, chips) for side in ("ours", "twin")}


def _figures(side: str, kind: Kind, length: int, dtype: str, chips: list[Any]) -> dict[str, float]:
    with jax.enable_x64(dtype == "float64"):
        made = figures(lambda: lowered(side, workload(kind, length, dtype), chips))
    return {"flops": made["flops"], "bytes": made["bytes"], "temporaries": made["memory"]["temporaries"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--chips", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    chips = devices("v5e:2x2")[: args.chips]
    result = {}
    for name in args.kinds.split(","):
        for dtype in args.dtypes.split(","):
            for length in map(int, args.lengths.split(",")):
                found = result[f"{name} {dtype} {length}"] = row(KINDS[name], length, dtype, chips)
                if not args.json:
                    ours, twin = found["ours"], found["twin"]
                    ratios = " | ".join(f"{ours[k] / twin[k]:.3f}" for k in ("flops", "bytes"))
                    mine, theirs = (side["temporaries"] / 1e6 for side in (ours, twin))
                    ratio = f"{mine / theirs:.3f}" if theirs else "-"
                    print(
                        f"| {name} | {dtype} | {length} | {ratios} | {mine:.2f} / {theirs:.2f} MB | {ratio} |",
                        flush=True,
                    )
    if args.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
