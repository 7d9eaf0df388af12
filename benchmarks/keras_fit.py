"""What a step costs in ``tf.keras``'s ``fit``, beside the same step in hand-written JAX.

    python -m benchmarks.keras_fit [--steps N]                        # fit, the twin and their ratio, by turns
    python benchmarks/keras_fit.py --only tensorflow [--steps N]      # TensorFlow 2.15 itself, in its environment
    KERAS_BACKEND=jax python benchmarks/keras_fit.py --only keras     # Keras 3 on JAX, in its environment

Each model trains on rows that are in memory, with Adam and the metric "accuracy", N steps (default 50) per execution,
in TensorFlow's and this library's terms; Keras 3 has no such argument on JAX and returns after each step. The twin is
one jitted ``lax.scan`` over N batches with the loss, the metric and Adam. Milliseconds a step on the clock: the median
over the epochs of all rounds. The first column is the first call of ``fit``, tracing and compilation with it, seconds.
"""

import argparse
import itertools
import time

import numpy as np

ROUNDS, EPOCHS = 3, 4
MODELS = {"mlp 64": (64, 1), "mlp 512": (512, 2), "mlp 1024": (1024, 3)}
"""Name -> the width of the hidden layers and how many there are."""
BATCH, FEATURES, CLASSES = 128, 64, 10


def rows(executions, steps):
    state = np.random.RandomState(0)
    x = state.standard_normal((executions * steps * BATCH, FEATURES)).astype(np.float32)
    return x, x[:, :CLASSES].argmax(1).astype(np.int64)


class Fit:
    """``fit`` of one model, of any Keras."""

    def __init__(self, keras, data, width, depth, steps):
        layers = keras.layers
        self.model = keras.Sequential(
            [keras.Input((FEATURES,)), *(layers.Dense(width, "relu") for _ in range(depth)), layers.Dense(CLASSES)]
        )
        several = {} if getattr(keras, "__version__", "2").startswith("3") else {"steps_per_execution": steps}
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.model.compile("adam", loss, metrics=["accuracy"], **several)
        self.data = data

    def epoch(self):
        self.model.fit(self.data, epochs=1, verbose=0)


class Twin:
    """The same steps in hand-written JAX: one program for all steps of an execution."""

    def __init__(self, x, y, width, depth, steps):
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


def timed(program, count):
    """Seconds of the first epoch, then of each further one."""
    times = [time.perf_counter()]
    for _ in range(count):
        program.epoch()
        times.append(time.perf_counter())
    return np.diff(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--only", choices=["tensorflow", "keras"])
    options = parser.parse_args()
    steps = options.steps
    twin = options.only is None
    if options.only == "keras":
        import keras
    elif twin:
        import towerstrat.compat.v2 as tf
    else:
        import tensorflow as tf
    if options.only != "keras":
        keras = tf.keras
    head = "| model | first fit, s | fit, ms a step |" + (" twin | ratio |" if twin else "")
    print(f"{head}\n|---|---|---|" + ("---|---|" if twin else ""))
    for name, (width, depth) in MODELS.items():
        executions = max(2, 400 // steps)
        x, y = rows(executions, steps)
        if options.only == "keras":
            data = x, y
            fit = Fit(keras, None, width, depth, steps)
            fit.epoch = lambda fit=fit, data=data: fit.model.fit(*data, batch_size=BATCH, shuffle=False, verbose=0)
        else:
            data = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)
            fit = Fit(keras, data, width, depth, steps)
        first = timed(fit, 1)[0]
        programs = [fit, Twin(x, y, width, depth, steps)] if twin else [fit]
        for program in programs[1:]:
            timed(program, 1)
        runs = np.stack([[timed(program, EPOCHS) for program in programs] for _ in range(ROUNDS)])
        found = np.median(runs, axis=(0, 2)) / (executions * steps) * 1e3
        line = f"| {name} | {first:.2f} | {found[0]:.3f} |"
        print(line + (f" {found[1]:.3f} | {found[0] / found[1]:.3f} |" if twin else ""), flush=True)


if __name__ == "__main__":
    main()
