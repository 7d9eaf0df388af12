"""What several processes cost: steps over them beside hand-written JAX over them, and what agreeing costs.

    python -m benchmarks.hosts --processes 2 --devices 1

Both sides run in the same processes, in turns; process 0 prints. The twin assembles the rows of its own towers, as
ours does. "loop" is ``run_steps_on_dataset`` beside a scan over as many steps, "session" is ``session.run`` of one step
after the other, whose loss each call gives, beside a jitted step whose loss is fetched; "workers" is a graph for each
process, as old clusters' workers had, whose gradients meet where the optimizer applies them, beside the same twin.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any
from unittest import mock

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import towerstrat.compat.v1 as tf
from benchmarks import mlp
from benchmarks.harness import Devices, Ours, Twin, Workload
from tests.hosts import several
from towerstrat.graph.runtime.programs import program_cache, program_consensus
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES

MODULE = "benchmarks.hosts"
FIRST_CALLS = 20
CLUSTER = {"worker": [f"localhost:{2222 + i}" for i in range(PROCESSES.count)]}


class HostsTwin(Twin):
    """A twin whose processes each assemble the input of their own towers."""

    def _assemble(self) -> tuple[Any, Any]:
        examples = self.workload.examples()
        own = self.towers // PROCESSES.count
        towers = np.arange(PROCESSES.index * own, (PROCESSES.index + 1) * own)
        steps, batch = np.arange(self.chunk), self.workload.batch
        first = self.position + (steps[:, None] * self.towers + towers[None, :]) * batch
        rows = (first.reshape(-1, 1) + np.arange(batch)).ravel() % len(examples[0])
        self.position += self.chunk * self.towers * batch
        lead = () if self.form == "steps" else (self.chunk,)
        split = NamedSharding(self.mesh, PartitionSpec(*(None for _ in lead), "tower"))
        return tuple(
            jax.make_array_from_process_local_data(split, a.take(rows, axis=0).reshape(*lead, own, batch, *a.shape[1:]))
            for a in examples
        )  # type: ignore[return-value]

    def run(self) -> float:
        if self.form != "steps":
            return super().run()
        for _ in range(self.chunks):
            self.state, fetched = self.function(self.state, *self.ahead)
            self.ahead = self._assemble()
            loss = float(fetched)
        return loss


class Single:
    """A workload as steps of a session, one after the other. Arguments as of ``Ours``."""

    def __init__(self, workload: Workload, devices: Sequence[Any], steps_per_run: int):
        self.steps = steps_per_run
        with tf.Graph().as_default():
            strategy = tf.contrib.distribute.TPUStrategy(Devices(devices))

            def dataset_fn() -> Any:
                dataset = tf.data.Dataset.from_tensor_slices(workload.examples())
                return dataset.repeat().batch(workload.batch, drop_remainder=True)

            def tower_fn(inputs: Any) -> Any:
                loss = workload.loss(*inputs, workload.initial)
                return workload.optimizer().minimize(loss), loss

            with strategy.scope():
                inputs = strategy.distribute_dataset(dataset_fn).make_one_shot_iterator().get_next()
                train_op, loss = strategy.call_for_each_tower(tower_fn, inputs)
                mean = strategy.reduce(tf.VariableAggregation.MEAN, loss, "/cpu:0")
            self.fetches = [strategy.group(train_op), mean]
            self.session = tf.Session()
            self.initializer = tf.global_variables_initializer()

    def initialize(self) -> None:
        self.session.run(self.initializer)

    def run(self) -> float:
        for _ in range(self.steps):
            loss = self.session.run(self.fetches)[1]
        return float(loss)


@cache
def _server() -> Any:
    return tf.train.Server(CLUSTER, "worker", PROCESSES.index)


class Worker(Single):
    """A workload as a worker's own graph, with its part of the data. Arguments as of ``Ours``."""

    def __init__(self, workload: Workload, devices: Sequence[Any], steps_per_run: int):
        self.steps = steps_per_run
        server = _server()
        with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(cluster=CLUSTER)):
            dataset = tf.data.Dataset.from_tensor_slices(workload.examples()).repeat()
            dataset = dataset.batch(workload.batch, drop_remainder=True).shard(PROCESSES.count, PROCESSES.index)
            with tf.variable_scope(workload.name.replace(" ", "_")):  # a server has one variable of a name
                loss = workload.loss(*dataset.make_one_shot_iterator().get_next(), workload.initial)
                self.fetches = [workload.optimizer().minimize(loss), loss]
            self.session = tf.Session(server.target)
            self.initializer = tf.global_variables_initializer()


SIDES: dict[str, tuple[Any, str]] = {"loop": (Ours, "scan"), "session": (Single, "steps"), "workers": (Worker, "steps")}


def steps(kind: str, rounds: int, steps_per_run: int) -> None:
    """Prints the times of a step of both sides, by turns."""
    for workload in (mlp.workload(), mlp.workload("small mlp", batch=64, features=64, hidden=(64, 64))):
        devices = jax.devices()
        of_ours, form = SIDES[kind]
        sides = {
            "ours": of_ours(workload, devices, steps_per_run),
            "twin": HostsTwin(workload, devices, steps_per_run, form),
        }
        losses = {}
        for name, side in sides.items():
            side.initialize()
            losses[name] = [side.run() for _ in range(3)]
        if kind != "workers":  # whose losses are of their own batches
            np.testing.assert_allclose(losses["ours"][0], losses["twin"][0], 0.02)
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                start = time.perf_counter()
                side.run()
                times[name].append((time.perf_counter() - start) / steps_per_run)
        medians = {name: statistics.median(values) * 1e3 for name, values in times.items()}
        fastest = min(times["ours"]) / min(times["twin"])
        if PROCESSES.index == 0:
            print(
                f"| {workload.name}, {kind} | {PROCESSES.count} x {len(devices) // PROCESSES.count} | "
                f"{medians['ours']:.3f} | "
                f"{medians['twin']:.3f} | {medians['ours'] / medians['twin']:.3f} | {fastest:.3f} |",
                flush=True,
            )


def agreement(programs: int) -> None:
    """Prints what comparing costs: the exchange, describing a program, and how much later a new one has run."""
    taken = []
    for number in range(programs):
        start = time.perf_counter()
        COLLECTIVES.agree(f"program {number}", {"its operations": "0" * 24}, list)
        taken.append(time.perf_counter() - start)
    with tf.Graph().as_default(), tf.Session() as session:
        strategy = tf.contrib.distribute.TPUStrategy(Devices(jax.devices()))
        given = tf.placeholder(tf.float32, [None, 64])

        def tower_fn(x: Any) -> Any:
            for _ in range(60):
                x = tf.nn.relu(tf.matmul(x, tf.ones([64, 64])) + 1.0)
            return tf.reduce_sum(x)

        with strategy.scope():
            values = strategy.call_for_each_tower(tower_fn, given)
            total = strategy.reduce(tf.VariableAggregation.SUM, values, "/cpu:0")
        operations = tf.get_default_graph().get_operations()
        start = time.perf_counter()
        program_consensus.fingerprint(operations, ())
        described = time.perf_counter() - start
        # Each shape is a program of its own; every other one is not compared.
        first: dict[bool, list[float]] = {True: [], False: []}
        for rows in range(1, 2 * FIRST_CALLS + 1):
            compared = rows % 2 == 0
            with nullcontext() if compared else mock.patch.object(program_cache, "require_agreement"):
                start = time.perf_counter()
                session.run(total, {given: np.ones([rows, 64], np.float32)})
                first[compared].append(time.perf_counter() - start)
    if PROCESSES.index == 0:
        with_it, without = (statistics.median(first[compared]) * 1e3 for compared in (True, False))
        print(
            f"An exchange takes {statistics.median(taken) * 1e3:.2f} ms (fastest {min(taken) * 1e3:.2f}), describing a "
            f"program {described / len(operations) * 1e6:.1f} us per operation, both while it is compiled: first calls "
            f"of programs of {len(operations)} operations take {with_it:.1f} ms, not compared {without:.1f} ms."
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--devices", type=int, default=1, help="of each process")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=50, help="of a run; in a loop it is one program")
    parser.add_argument("--kinds", nargs="+", choices=SIDES, default=list(SIDES))
    arguments = parser.parse_args()
    if PROCESSES.count == 1:
        done = several.run(arguments.processes, arguments.devices, MODULE, sys.argv[1:], seconds=1200)
        print(done[0][1], end="")
        if any(status for status, *_ in done):
            raise subprocess.SubprocessError("\n".join(errors[-2000:] for *_, errors in done))
        return
    if PROCESSES.index == 0:
        print("| model | processes x towers | ours, ms a step | twin, ms a step | ratio | of the fastest |")
        print("|---|---|---|---|---|---|")
    for kind in arguments.kinds:
        steps(kind, arguments.rounds, arguments.steps)
    agreement(200)


if __name__ == "__main__":
    main()
