"""A loop of ``tf.distribute`` in a ``tf.function`` against the step loop of the towers: the same model, the same steps.

    python -m benchmarks.distribute            # one and four virtual CPU devices
    python -m benchmarks.distribute --towers 1

Both sides train with momentum written by hand. What counts is the median over sittings in which both sides take turns.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from benchmarks.harness import Devices
from towerstrat.graph.eager import mode

STEPS = 100
SITTINGS = 9
RATE, MOMENTUM = 0.01, 0.9
RANDOM = np.random.RandomState(0)


def drawn(*shape: int) -> Any:
    return (RANDOM.randn(*shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


class Model:
    """A model over variables by name.

    Args:
      initial: values of the variables.
      logits: (variables, inputs) -> logits of ten classes.
      inputs: shape of one example.
      batch: examples of one step on one tower.
    """

    def __init__(
        self, initial: Mapping[str, Any], logits: Callable[[Any, Any], Any], inputs: Sequence[int], batch: int
    ):
        self.initial = initial
        self.logits = logits
        self.batch = batch
        self.inputs = RANDOM.randn(batch * 32, *inputs).astype(np.float32)
        self.labels = RANDOM.randint(0, 10, batch * 32).astype(np.int32)

    def dataset(self, api: Any, batch: int) -> Any:
        return api.data.Dataset.from_tensor_slices((self.inputs, self.labels)).repeat().batch(batch, True)

    def loss(self, variables: Any, inputs: Any, labels: Any, examples: int) -> Any:
        losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=self.logits(variables, inputs))
        return tf1.reduce_sum(losses) / examples

    def variables(self, api: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The model's, and momentum's."""
        own = {k: api.Variable(v, name=k) for k, v in self.initial.items()}
        return own, {k: api.Variable(np.zeros_like(v), trainable=False) for k, v in self.initial.items()}


def _perceptron(*widths: int, batch: int) -> Model:
    initial: dict[str, Any] = {}
    for i, (before, after) in enumerate(itertools.pairwise(widths)):
        initial[f"kernel_{i}"], initial[f"bias_{i}"] = drawn(before, after), np.zeros(after, np.float32)
    last = len(widths) - 2

    def logits(variables: Any, net: Any) -> Any:
        for i in range(last + 1):
            net = tf1.matmul(net, variables[f"kernel_{i}"]) + variables[f"bias_{i}"]
            net = tf1.nn.relu(net) if i < last else net
        return net

    return Model(initial, logits, widths[:1], batch)


def _convnet() -> Model:
    initial = {"first": drawn(3, 3, 1, 32), "second": drawn(3, 3, 32, 64), "dense": drawn(1024, 10)}

    def logits(variables: Any, images: Any) -> Any:
        net = tf1.nn.relu(tf1.nn.conv2d(images, variables["first"], [1, 1, 1, 1], "SAME"))
        net = tf1.nn.relu(tf1.nn.conv2d(net, variables["second"], [1, 1, 1, 1], "SAME"))
        net = tf1.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        return tf1.matmul(tf1.reshape(net, [-1, 1024]), variables["dense"])

    return Model(initial, logits, (8, 8, 1), 32)


MODELS: dict[str, Callable[[], Model]] = {
    "mlp": lambda: _perceptron(784, 512, 512, 10, batch=256),
    "convnet": _convnet,
    "tiny mlp": lambda: _perceptron(16, 32, 10, batch=8),
}


def _descend(variables: Any, momenta: Any, gradients: Mapping[str, Any]) -> list[Any]:
    changes = []
    for name, gradient in gradients.items():
        momentum = MOMENTUM * momenta[name] + gradient
        changes += [momenta[name].assign(momentum), variables[name].assign_sub(RATE * momentum)]
    return changes


class Loop:
    """A loop of ``STEPS`` steps.

    Attributes:
      run: runs it and gives the last loss.
      op: () -> its operation.
    """

    def __init__(self, run: Callable[[], float], op: Callable[[], Any]):
        self.run = run
        self.op = op


def tower_loop(model: Model, devices: Sequence[Any]) -> Loop:
    """``run_steps_on_dataset`` in a session."""
    with tf1.Graph().as_default():
        strategy = tf1.contrib.distribute.TPUStrategy(Devices(devices), STEPS)
        examples = model.batch * len(devices)
        reduce = tf1.VariableAggregation.SUM
        with strategy.scope():
            variables, momenta = model.variables(tf1)
            dataset = strategy.distribute_dataset(lambda: model.dataset(tf1, model.batch))

            def update(distribution: Any, loss: Any, *gradients: Any) -> Any:
                names = list(variables)
                found = {n: distribution.reduce(reduce, g, variables[n]) for n, g in zip(names, gradients, strict=True)}
                with tf1.control_dependencies([tf1.group(*_descend(variables, momenta, found))]):
                    return tf1.identity(distribution.reduce(reduce, loss, "/cpu:0"))

            def tower(inputs: Any, labels: Any) -> Any:
                loss = model.loss(variables, inputs, labels, examples)
                gradients = tf1.gradients(loss, list(variables.values()))
                return tf1.contrib.distribute.get_tower_context().merge_call(update, loss, *gradients)

            def step(context: Any, *inputs: Any) -> Any:
                loss = strategy.unwrap(strategy.call_for_each_tower(tower, *inputs))[0]
                context.set_last_step_output("loss", loss)
                return loss

            context = strategy.run_steps_on_dataset(step, dataset.make_one_shot_iterator(), STEPS)
        session = tf1.Session()
        initializer = tf1.global_variables_initializer()
    loss = context.last_step_outputs["loss"]

    def run() -> float:
        if session.state.get(variables[next(iter(variables))].cell) is None:
            session.run(initializer)
        return float(session.run([loss, context.run_op])[0])

    return Loop(run, lambda: loss.op)


def function_loop(model: Model, devices: Sequence[Any], method: str = "run") -> Loop:
    """``Strategy.run``, or as ``method`` spells it, in a loop of a ``tf.function``."""
    strategy = tf.distribute.TPUStrategy(Devices(devices))
    examples = model.batch * len(devices)
    with strategy.scope():
        variables, momenta = model.variables(tf)
    iterator = iter(strategy.experimental_distribute_dataset(model.dataset(tf, examples)))

    def step(inputs: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = model.loss(variables, inputs, labels, examples)
        gradients = tape.gradient(loss, variables)
        gradients = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        _descend(variables, momenta, gradients)
        return loss

    run = getattr(strategy, method)

    @tf.function  # type: ignore[untyped-decorator]
    def steps(iterator: Any, count: Any) -> Any:
        loss = 0.0
        for _ in tf.range(count):
            loss = strategy.reduce(tf.distribute.ReduceOp.SUM, run(step, args=next(iterator)), axis=None)
        return loss

    count = tf.constant(STEPS)

    def op() -> Any:
        operations = steps.get_concrete_function(iterator, count).graph.get_operations()
        return next(op for op in operations if op.type == "While")

    return Loop(lambda: float(steps(iterator, count)), op)


def measure(name: str, towers: int) -> dict[str, float]:
    """Milliseconds per step of both sides, and their ratio."""
    model = MODELS[name]()
    devices = jax.devices()[:towers]
    sides = {"towers": tower_loop(model, devices)}
    with mode.eager_mode():
        sides["function"] = function_loop(model, devices)
        losses = {side: [loop.run() for _ in range(2)] for side, loop in sides.items()}
        np.testing.assert_allclose(losses["function"], losses["towers"], rtol=1e-4)
        taken: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(SITTINGS):
            for side, loop in sides.items():
                start = time.perf_counter()
                loop.run()
                taken[side].append((time.perf_counter() - start) / STEPS * 1e3)
    found = {side: statistics.median(times) for side, times in taken.items()}
    ratios = [f / t for f, t in zip(taken["function"], taken["towers"], strict=True)]
    return {**found, "ratio": statistics.median(ratios)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--towers", type=int, help="how many; default one, then four, each in a process of its own")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    arguments = parser.parse_args()
    if arguments.towers is None:
        for towers in (1, 4):
            command = [sys.executable, "-m", "benchmarks.distribute", "--towers", str(towers)]
            flags = f"--xla_force_host_platform_device_count={towers}"
            environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
            subprocess.run([*command, "--models", *arguments.models], check=True, env=environment)
        return
    found = {name: measure(name, arguments.towers) for name in arguments.models}
    if arguments.json:
        print(json.dumps(found))
        return
    for name, row in found.items():
        print(
            f"{name:10} {arguments.towers} tower(s): step loop {row['towers']:.3f} ms a step, function "
            f"{row['function']:.3f} ms, ratio {row['ratio']:.3f}"
        )


if __name__ == "__main__":
    main()
