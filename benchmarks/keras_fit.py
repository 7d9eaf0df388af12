"""What a step costs in ``tf.keras``'s ``fit``, beside the same step in hand-written JAX.

    python -m benchmarks.keras_fit [--models NAME,NAME] [--rounds N]                 # fit beside the twin
    python -m benchmarks.keras_fit --beside tensorflow=PYTHON --beside keras=PYTHON  # and other libraries, by turns

Each model trains on rows that are in memory, with Adam and the metric "accuracy", 50 steps per execution in
TensorFlow's and this library's terms; Keras 3 on JAX has that argument too. The twin is one jitted ``lax.scan`` over 50
batches with the loss, the metric and Adam, whose sums are fetched after each execution. ``--beside`` starts this file
with ``--only`` in the environment of the other library and asks it for one epoch after the other, so that all are timed
in turns, in one sitting; what it needs is TensorFlow 2.15 (which brings Keras), or Keras 3 and JAX.

An epoch is one call of ``fit``. Milliseconds a step on the clock: the median of the epochs, by turns; the ratio is that
of the medians, beside it that of the fastest epochs. What ``fit`` costs for each execution more than the twin, in
microseconds, with what an epoch itself costs in it. The first fit is the first call of ``fit``, with tracing and
compilation; for the twin its first epoch.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time

import numpy as np

STEPS = 50
ROUNDS = 9
MODELS = {"mlp 64": (64, 1, 40), "mlp 512": (512, 2, 8), "mlp 1024": (1024, 3, 2)}
"""Name -> the width of the hidden layers, how many there are, and executions of an epoch."""
BATCH, FEATURES, CLASSES = 128, 64, 10


def rows(executions, steps=STEPS):
    state = np.random.RandomState(0)
    x = state.standard_normal((executions * steps * BATCH, FEATURES)).astype(np.float32)
    return x, x[:, :CLASSES].argmax(1).astype(np.int64)


class Fit:
    """``fit`` of one model, of any Keras."""

    def __init__(self, keras, data, width, depth, steps=STEPS):
        layers = keras.layers
        self.model = keras.Sequential(
            [keras.Input((FEATURES,)), *(layers.Dense(width, "relu") for _ in range(depth)), layers.Dense(CLASSES)]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.model.compile("adam", loss, metrics=["accuracy"], steps_per_execution=steps)
        self.data = data

    def epoch(self):
        self.model.fit(**self.data, epochs=1, verbose=0)


class Twin:
    """The same steps in hand-written JAX: one program for all steps of an execution."""

    def __init__(self, x, y, width, depth, steps=STEPS):
        import jax
        import jax.numpy as jnp

        state = np.random.RandomState(1)
        sizes = [FEATURES, *[width] * depth, CLASSES]
        weights = [
            (0.1 * state.standard_normal(pair).astype(np.float32), np.zeros(pair[1], np.float32))
            for pair in itertools.pairwise(sizes)
        ]
        zeros = jax.tree.map(np.zeros_like, weights)
        self.state = (weights, zeros, jax.tree.map(np.zeros_like, weights), np.float32(0), np.zeros(3, np.float32))

        def loss_of(weights, x, y):
            for w, b in weights[:-1]:
                x = jax.nn.relu(x @ w + b)
            logits = x @ weights[-1][0] + weights[-1][1]
            chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1)
            return -chosen.mean(), (logits.argmax(1) == y).sum()

        def step(carry, batch):
            weights, m, v, count, sums = carry
            (loss, right), grads = jax.value_and_grad(loss_of, has_aux=True)(weights, *batch)
            count = count + 1
            m = jax.tree.map(lambda m, g: m + (g - m) * 0.1, m, grads)
            v = jax.tree.map(lambda v, g: v + (g * g - v) * 0.001, v, grads)
            rate = 0.001 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-7), weights, m, v)
            return (weights, m, v, count, sums + jnp.stack([loss, right.astype(jnp.float32), 1.0])), None

        self.run = jax.jit(lambda carry, x, y: jax.lax.scan(step, carry, (x, y))[0], donate_argnums=0)
        self.x = x.reshape(-1, steps, BATCH, FEATURES)
        self.y = y.reshape(-1, steps, BATCH).astype(np.int32)

    def epoch(self):
        for x, y in zip(self.x, self.y, strict=True):
            self.state = self.run(self.state, x, y)
            np.asarray(self.state[-1])


def fit_of(library, name):
    """``fit`` of a model in "towerstrat", "tensorflow" or "keras", which is Keras 3 on JAX."""
    width, depth, executions = MODELS[name]
    x, y = rows(executions)
    if library == "keras":
        import keras

        return Fit(keras, {"x": x, "y": y, "batch_size": BATCH, "shuffle": False}, width, depth)
    if library == "tensorflow":
        import tensorflow as tf
    else:
        import towerstrat.compat.v2 as tf
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)
    return Fit(tf.keras, {"x": data}, width, depth)


def seconds(program):
    start = time.perf_counter()
    program.epoch()
    return time.perf_counter() - start


def serve(library):
    """Answers each name of a model on the standard input by the seconds of an epoch of it."""
    out, sys.stdout = sys.stdout, sys.stderr
    programs = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in programs:
            programs = {name: fit_of(library, name)}
        print(json.dumps(seconds(programs[name])), file=out, flush=True)


class Beside:
    """Another library, in a process of its environment."""

    def __init__(self, library, python):
        # The other environment gets nothing of this one but the variables that every process has.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment |= {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [python, os.path.abspath(__file__), "--only", library]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.name = None

    def epoch(self):
        self.process.stdin.write(f"{self.name}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[0]} ended: its last lines are above.")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measured(name, beside, rounds):
    """Seconds of the first epoch, and of each further one, of each side."""
    width, depth, executions = MODELS[name]
    sides = {"fit": None, "twin": None, **beside}
    first, times = {}, {side: [] for side in sides}
    for side in beside.values():
        side.name = name
    for turn in range(rounds + 2):  # the second epoch still learns how long a step takes
        for side in sides:
            if turn == 0 and side == "fit":
                fit = fit_of("towerstrat", name)
            elif turn == 0 and side == "twin":
                twin = Twin(*rows(executions), width, depth)
            found = beside[side].epoch() if side in beside else seconds(fit if side == "fit" else twin)
            if turn == 0:
                first[side] = found
            elif turn > 1:
                times[side].append(found)
    return first, {side: np.array(found) for side, found in times.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--beside", action="append", default=[], metavar="LIBRARY=PYTHON")
    parser.add_argument("--only", choices=["tensorflow", "keras"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        serve(options.only)
        return
    beside = {library: Beside(library, python) for library, python in (b.split("=", 1) for b in options.beside)}
    more = "".join(f" {library}: first fit, s | fit, ms a step |" for library in beside)
    print("| model | first fit, s | fit, ms a step | twin | ratio | of the fastest | us an execution |" + more)
    print("|---" * (7 + 2 * len(beside)) + "|")
    for name in options.models.split(","):
        first, times = measured(name, beside, options.rounds)
        executions = MODELS[name][2]
        middle = {side: np.median(found) for side, found in times.items()}
        step = {side: 1e3 * found / (executions * STEPS) for side, found in middle.items()}
        cells = [name, f"{first['fit']:.2f}", f"{step['fit']:.3f}", f"{step['twin']:.3f}"]
        cells += [f"{middle['fit'] / middle['twin']:.3f}", f"{times['fit'].min() / times['twin'].min():.3f}"]
        cells.append(f"{1e6 * np.median(times['fit'] - times['twin']) / executions:+.0f}")
        for library in beside:
            cells += [f"{first[library]:.2f}", f"{step[library]:.3f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    for side in beside.values():
        side.close()


if __name__ == "__main__":
    main()
