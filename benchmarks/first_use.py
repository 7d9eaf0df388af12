"""What is used for the first time: initializers, new fetches, new feed shapes, and the second start of a program.

    python -m benchmarks.first_use [--repetitions 3] [--original PYTHON36]

Initializers stand beside TensorFlow 1.12's where a Python with it is given; fetches and shapes beside the same
function under ``jax.jit``. Times of fetches and shapes are CPU times, tracing and compiling included: they are in one
process and depend little on what else the machine does.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import towerstrat.compat.v1 as tf
from towerstrat import cli
from towerstrat.platform.compilation_cache import VARIABLE

ROOT = Path(__file__).resolve().parent.parent
VARIABLES = ROOT / "benchmarks" / "bert_variables.py"
DIGITS = ROOT / "examples" / "digits.py"
COMPILED = "/jax/core/compile/backend_compile_duration"
TRACED = ("/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/jaxpr_to_mlir_module_duration")


def run_program(program: Path, *arguments: str, cache: str) -> str:
    """The output of ``towerstrat run``, with compiled programs kept in ``cache``."""
    code = "import sys; from benchmarks import first_use; sys.exit(first_use.start(sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(program), *arguments]
    environment = os.environ | {VARIABLE: cache, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT).stdout


def start(arguments: list[str]) -> int:
    """Runs a program as ``towerstrat run`` does, and prints the seconds it spent compiling at the end."""
    spent = [0.0]

    def note(event: str, seconds: float, **about: Any) -> None:
        if event.startswith(COMPILED):
            spent[0] += seconds

    jax.monitoring.register_event_duration_secs_listener(note)
    atexit.register(lambda: print(json.dumps(spent)))
    return cli.main(["run", "--api", "1", *arguments])


# ---- initializers ------------------------------------------------------------------------------------------------


def initializers(repetitions: int, original: str | None) -> Iterator[str]:
    """Rows for the variables of a small BERT; medians of processes."""
    yield "| variables | first | persistent cache | second operation | same again | second graph |"
    yield "|---|---|---|---|---|---|"
    for label, arguments in (("BERT", ()), ("BERT with Adam's slots", ("--adam",))):
        ours: list[dict[str, float]] = []
        theirs: list[dict[str, float]] = []
        for _ in range(repetitions):
            with tempfile.TemporaryDirectory() as cache:
                cold, warm = (_measured(run_program(VARIABLES, *arguments, cache=cache)) for _ in range(2))
            ours.append(cold | {"persistent cache": warm["first"]})
            if original is not None:
                command = [original, str(VARIABLES), *arguments]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                measured = _measured(done.stdout)
                theirs.append(measured | {"persistent cache": measured["first"]})
        rows = [(label, ours)] + ([(f"{label}, TensorFlow 1.12", theirs)] if theirs else [])
        for name, found in rows:
            columns = ("first", "persistent cache", "second operation", "same operation", "second graph")
            medians = [statistics.median(f[column] for f in found) for column in columns]
            yield f"| {name} | " + " | ".join(f"{m * 1e3:.0f} ms" for m in medians) + " |"


def _measured(output: str) -> dict[str, float]:
    return json.loads(output.splitlines()[0])


# ---- new fetches and shapes --------------------------------------------------------------------------------------

LAYERS = 6
FEATURES = 32


def _graph() -> tuple[Any, Any, Any, Any]:
    """A small network with Adam: (placeholder, weights, loss, training operation)."""
    weights = tf.Variable(np.full((FEATURES, FEATURES), 0.01, np.float32))
    x = tf.placeholder(tf.float32, [None, FEATURES])
    hidden = x
    for _ in range(LAYERS):
        hidden = tf.tanh(tf.matmul(hidden, weights))
    loss = tf.reduce_sum(hidden)
    return x, weights, loss, tf.train.AdamOptimizer(1e-3).minimize(loss)


def _twin_step(state: Any, x: Any) -> Any:
    weights, m, v, beta1, beta2 = state

    def loss_of(weights: Any) -> Any:
        hidden = x
        for _ in range(LAYERS):
            hidden = jnp.tanh(hidden @ weights)
        return hidden.sum()

    loss, gradient = jax.value_and_grad(loss_of)(weights)
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient * gradient
    weights = weights - 1e-3 * jnp.sqrt(1 - beta2) / (1 - beta1) * m / (jnp.sqrt(v) + 1e-8)
    return (weights, m, v, beta1 * 0.9, beta2 * 0.999), loss


def _twin_state() -> Any:
    zeros = jnp.zeros((FEATURES, FEATURES), jnp.float32)
    return jnp.full_like(zeros, 0.01), zeros, jnp.zeros_like(zeros), jnp.float32(0.9), jnp.float32(0.999)


def cpu_seconds(call: Callable[..., Any], *arguments: Any) -> float:
    start = time.process_time()
    call(*arguments)
    return time.process_time() - start


def new_shapes(repetitions: int) -> Mapping[str, list[float]]:
    """CPU seconds of a training step whose batch size is new, ours and the twin's."""
    x, _, loss, train = _graph()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    twin, state = jax.jit(_twin_step), _twin_state()
    found: dict[str, list[float]] = {"ours": [], "twin": []}
    for rows in range(1, 4 * repetitions + 2):
        batch = np.ones((rows, FEATURES), np.float32)
        found["ours"].append(cpu_seconds(session.run, [train, loss], {x: batch}))
        found["twin"].append(cpu_seconds(lambda *step: float(twin(*step)[1]), state, batch))
    return {side: seconds[1:] for side, seconds in found.items()}


def new_fetches(repetitions: int) -> Mapping[str, list[float]]:
    """CPU seconds of the first fetch of an operation that was just made, and of a new jitted function like it."""
    x, weights, _, _ = _graph()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    batch, array = np.ones((4, FEATURES), np.float32), jnp.full((FEATURES, FEATURES), 0.01, jnp.float32)
    found: dict[str, list[float]] = {"ours": [], "twin": []}
    for i in range(4 * repetitions + 1):
        fetch = tf.reduce_sum(tf.nn.relu(tf.matmul(x, weights)) * float(i))
        twin = jax.jit(lambda w, x, i=i: (jax.nn.relu(x @ w) * float(i)).sum())
        found["ours"].append(cpu_seconds(session.run, fetch, {x: batch}))
        found["twin"].append(cpu_seconds(lambda function: float(function(array, batch)), twin))
    return {side: seconds[1:] for side, seconds in found.items()}


def beside_jit(repetitions: int) -> Iterator[str]:
    yield "| first run of | ours | jax.jit | ratio |"
    yield "|---|---|---|---|"
    for label, measured in (("a new feed shape", new_shapes), ("a new fetch", new_fetches)):
        found = measured(repetitions)
        ours, twin = (statistics.median(found[side]) for side in ("ours", "twin"))
        yield f"| {label} | {ours * 1e3:.0f} ms | {twin * 1e3:.0f} ms | {ours / twin:.2f} |"


# ---- second starts -----------------------------------------------------------------------------------------------


def second_start(repetitions: int) -> Iterator[str]:
    """Rows for ``towerstrat run examples/digits.py``: the seconds that each start spends tracing and compiling."""
    yield "| start of examples/digits.py | tracing | compiling |"
    yield "|---|---|---|"
    found: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory() as cache:
            for starts in found:
                starts.append(json.loads(run_program(DIGITS, "--runs", "2", cache=cache).splitlines()[-1]))
    for label, starts in zip(("first", "second"), found, strict=True):
        tracing, compiling = (statistics.median(s[kind] for s in starts) for kind in ("tracing", "compiling"))
        yield f"| {label} | {tracing:.2f} s | {compiling:.2f} s |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--original", metavar="PYTHON36", help="a Python with TensorFlow 1.12")
    arguments = parser.parse_args()
    for rows in (
        initializers(arguments.repetitions, arguments.original),
        beside_jit(arguments.repetitions),
        second_start(arguments.repetitions),
    ):
        for row in rows:
            print(row, flush=True)
        print()


if __name__ == "__main__":
    main()
