"""``MirroredStrategy`` beside ``TPUStrategy``, which traces once for all towers, and towers written by hand.

    python -m benchmarks.mirrored                        # all tables, on virtual CPU devices
    python -m benchmarks.mirrored --tables programs,building --towers 8

Tables: ``programs`` (flops, bytes and collectives of the compiled steps, whether their text is the same), ``steps``,
``building`` (the graph of a step, and its compiled program), ``towers`` (the graph for 8 to 64 towers), ``uneven`` (the
work of towers that differ), ``classes`` (32 towers that go two ways by their number: how often the model is there),
``by_hand`` (side by side and as they are). Seconds are of the process (all its threads)
but for ``steps`` and ``by_hand``, and the least of several, taken in turns.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np

import towerstrat.compat.v1 as tf
from benchmarks import convnet, mlp
from benchmarks.harness import Devices, Workload
from benchmarks.tpu_compile import collectives
from towerstrat.graph.runtime.plans.plan import DeviceStage
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.graph.runtime.sessions import session as sessions

TABLES = ("programs", "steps", "building", "towers", "uneven", "classes", "by_hand")
COUNTS = {"towers": 64, "classes": 32}
"""Devices that a table wants whatever `--towers` says."""
ROUNDS = 7
WORKLOADS = {"mlp": lambda: mlp.workload(batch=64, hidden=(256, 256)), "convnet": lambda: convnet.workload(batch=16)}
KINDS = ("tpu", "mirrored")


def strategy_of(kind: str, towers: int) -> Any:
    if kind == "tpu":
        return tf.contrib.distribute.TPUStrategy(Devices(jax.devices()[:towers]), steps_per_run=1)
    return tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(towers)])


class Step:
    """One training step of a workload on several towers, run by a session.

    Args:
      kind: of ``KINDS``.
    """

    def __init__(self, workload: Workload, kind: str, towers: int):
        self.graph = tf.Graph()
        examples = workload.examples()
        with self.graph.as_default():
            strategy = strategy_of(kind, towers)

            def data() -> Any:
                return tf.data.Dataset.from_tensor_slices(examples).repeat().batch(workload.batch, drop_remainder=True)

            def tower(inputs: Any, labels: Any) -> Any:
                loss = workload.loss(inputs, labels, workload.initial)
                return workload.optimizer().minimize(loss), loss

            with strategy.scope():
                batches = strategy.distribute_dataset(data).make_one_shot_iterator().get_next()
                train, loss = strategy.call_for_each_tower(tower, *batches)
                mean = strategy.reduce(tf.VariableAggregation.MEAN, loss, "/cpu:0")
                self.fetches = [strategy.group(train), strategy.unwrap(mean)[0]]
            self.initializer = tf.global_variables_initializer()
        self.session: Any = None

    def start(self) -> float:
        """Initializes and compiles; the first loss."""
        self.session = tf.Session(graph=self.graph)
        self.session.run(self.initializer)
        return self.run()

    def run(self) -> float:
        return float(self.session.run(self.fetches)[1])

    def program(self) -> Any:
        """The compiled step."""
        return programs_of(self.session, self.fetches)[-1]


def programs_of(session: Any, fetches: Any, feed: Any = ()) -> list[Any]:
    plan = session._plan(fetches, dict(feed))[1]
    return [p.compiled for s in plan.stages if isinstance(s, DeviceStage) for p in s.compiled.programs]


def cost(compiled: Any) -> Mapping[str, float]:
    found = compiled.cost_analysis()
    result: Mapping[str, float] = found[0] if isinstance(found, list) else found
    return result


def least(runs: Mapping[str, Callable[[], Any]], clock: Callable[[], float], rounds: int = ROUNDS) -> dict[str, float]:
    """The least seconds of each, taken in turns after a first round."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            start = clock()
            run()
            taken[name].append(clock() - start)
    return {name: min(times[1:]) for name, times in taken.items()}


# ---- tables ------------------------------------------------------------------------------------------------------


def programs(towers: int) -> Iterator[str]:
    yield "| model | towers | flops | bytes accessed | collectives | lines of HLO, of those the same |"
    yield "|---|---|---|---|---|---|"
    for name, workload in WORKLOADS.items():
        steps = {kind: Step(workload(), kind, towers) for kind in KINDS}
        losses = {kind: [step.start(), step.run(), step.run()] for kind, step in steps.items()}
        np.testing.assert_allclose(losses["mirrored"], losses["tpu"], rtol=1e-5)
        compiled = {kind: step.program() for kind, step in steps.items()}
        costs = {kind: cost(program) for kind, program in compiled.items()}
        ratio = {f: costs["mirrored"][f] / costs["tpu"][f] for f in ("flops", "bytes accessed")}
        of_towers = {kind: [(c, d, n) for c, d, n in collectives(p.as_text())] for kind, p in compiled.items()}
        same = "the same" if of_towers["mirrored"] == of_towers["tpu"] else f"{of_towers}"
        texts = {kind: plain(p.as_text()) for kind, p in compiled.items()}
        shared = sum(a == b for a, b in zip(texts["mirrored"], texts["tpu"], strict=False))
        yield (
            f"| {name} | {towers} | {ratio['flops']:.4f} | {ratio['bytes accessed']:.4f} | "
            f"{len(of_towers['mirrored'])}, {same} | {len(texts['mirrored'])}, {shared} |"
        )


def plain(text: str) -> list[str]:
    """The lines of a program without what only names where operations came from."""
    lines = (line.split(", metadata=")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line[0].isdigit() and "FileNames" not in line]


def steps(towers: int) -> Iterator[str]:
    yield "| model | towers | TPUStrategy, ms a step | MirroredStrategy, ms a step | ratio of medians | of the least |"
    yield "|---|---|---|---|---|---|"
    for name, workload in WORKLOADS.items():
        sides = {kind: Step(workload(), kind, towers) for kind in KINDS}
        for side in sides.values():
            side.start()
        taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for i in range(400):
            for kind in KINDS if i % 2 else KINDS[::-1]:
                start = time.perf_counter()
                sides[kind].run()
                taken[kind].append(1e3 * (time.perf_counter() - start))
        median = {kind: statistics.median(times) for kind, times in taken.items()}
        # The least are single samples: tenths of the samples are less of an accident.
        low = {kind: statistics.quantiles(times, n=10)[0] for kind, times in taken.items()}
        yield (
            f"| {name} | {towers} | {median['tpu']:.3f} | {median['mirrored']:.3f} | "
            f"{median['mirrored'] / median['tpu']:.3f} | {low['mirrored'] / low['tpu']:.3f} |"
        )


def started(workload: Workload, kind: str, towers: int) -> float:
    return Step(workload, kind, towers).start()


def building(towers: int) -> Iterator[str]:
    yield "| model | towers | graph, TPUStrategy, ms | MirroredStrategy, ms | both with compiling, ms | | ratio |"
    yield "|---|---|---|---|---|---|---|"
    for name, make in WORKLOADS.items():
        workload = make()
        graph = least({k: partial(Step, workload, k, towers) for k in KINDS}, time.process_time)
        whole = least({k: partial(started, workload, k, towers) for k in KINDS}, time.process_time, 3)
        cells = [f"{1e3 * x[kind]:.0f}" for x in (graph, whole) for kind in KINDS]
        yield f"| {name} | {towers} | {' | '.join(cells)} | {whole['mirrored'] / whole['tpu']:.2f} |"


def towers(_: int) -> Iterator[str]:
    yield "| model | towers | operations of a tower | graph, ms | us per operation and tower |"
    yield "|---|---|---|---|---|"
    for name, make in WORKLOADS.items():
        workload = make()
        for count in (1, 8, 16, 32, 64):
            taken = least({"graph": partial(Step, workload, "mirrored", count)}, time.process_time, 3)
            made = Step(workload, "mirrored", count).graph
            operations = sum(op.axis is not None for op in made.carried_out()) or 1
            if count == 1:
                one = taken["graph"]
                continue
            each = (taken["graph"] - one) / operations / (count - 1)
            yield f"| {name} | {count} | {operations} | {1e3 * taken['graph']:.0f} | {1e6 * each:.1f} |"


def layers(net: Any, count: int) -> Any:
    for i in range(count):
        net = tf.tanh(tf.matmul(net, tf.get_variable(f"w{i}", [256, 256])))
    return tf.reduce_sum(net)


def uneven(count: int) -> Iterator[str]:
    """Towers with 1, 2, 3... layers: the flops of products of each, beside those of a program of these layers alone."""
    yield "| tower | layers | flops of its products | of a program of these layers alone | ratio |"
    yield "|---|---|---|---|---|"
    count = min(count, 4)

    def gradients(inputs: Any, many: int, most: int) -> Any:
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            for i in range(most):
                tf.get_variable(f"w{i}", [256, 256])
            return tf.gradients(layers(inputs, many), tf.trainable_variables()[:many])

    rows = np.ones((64, 256), np.float32)
    alone = []
    for k in range(count):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, rows.shape)
            found = [tf.reduce_sum(g) for g in gradients(x, k + 1, count)]
            session.run(tf.global_variables_initializer())
            session.run(found, {x: rows})
            alone += products(programs_of(session, found, {x: rows})[-1].as_text())
    with tf.Graph().as_default(), tf.Session() as session:
        strategy = strategy_of("mirrored", count)
        x = tf.placeholder(tf.float32, (count * 64, 256))
        parts = tf.split(x, count)
        feed = {x: np.ones(x.shape, np.float32)}

        def tower() -> Any:
            k = tf.contrib.distribute.get_tower_context().tower_id
            return tf.add_n([tf.reduce_sum(g) for g in gradients(parts[k], k + 1, count)])

        with strategy.scope():
            total = strategy.reduce(tf.VariableAggregation.SUM, strategy.call_for_each_tower(tower), "/cpu:0")
            results = list(strategy.unwrap(total))
        session.run(tf.global_variables_initializer())
        session.run(results, feed)
        own = products(programs_of(session, results, feed)[-1].as_text())
    assert len(own) == count, f"expected a branch for each tower, found {own}"
    for k, flops in enumerate(own):
        yield f"| {k} | {k + 1} | {flops:.4g} | {alone[k]:.4g} | {flops / alone[k]:.3f} |"


def checked(net: Any, _: int) -> Any:
    with tf.control_dependencies([tf.Assert(tf.reduce_sum(net) < 1e9, [net])]):
        return tf.identity(net)


WAYS: dict[str, Callable[[Any, int], Any]] = {
    "all alike": lambda net, k: layers(net, 4),
    "`if tower_id % 2`": lambda net, k: layers(net * 2.0 if k % 2 else net, 4),
    "that, `tf.cond` around the model": lambda net, k: tf.cond(
        net[0, 0] > 0, lambda: layers(net * 2.0 if k % 2 else net, 4), lambda: tf.reduce_sum(net)
    ),
    "that, a seed of each tower's own": lambda net, k: layers(tf.nn.dropout(net, 0.5, seed=k) if k % 2 else net, 4),
    "that, `tf.Assert` before the model": lambda net, k: layers(checked(net * 2.0 if k % 2 else net, k), 4),
}


def classes(_: int) -> Iterator[str]:
    """Programs of 32 towers with the gradients of 4 layers: how many copies of these there are, and CPU seconds."""
    yield "| towers whose Python takes | copies of the model | graph, s | lowering, s | compiling, s |"
    yield "|---|---|---|---|---|"
    one = 0.0
    for name, way in WAYS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, (COUNTS["classes"] * 8, 256))
            feed = {x: np.ones(x.shape, np.float32)}
            start = time.process_time()
            results = of_towers(way, tf.split(x, COUNTS["classes"]))
            built = time.process_time() - start
            session.run(tf.global_variables_initializer())
            spent = {"lower": 0.0, "compile": 0.0}
            with clocked(jax.stages.Traced, "lower", spent), clocked(jax.stages.Lowered, "compile", spent):
                start = time.process_time()
                session.run(results, feed)
                spent["lower"] += time.process_time() - start - sum(spent.values())
            count = sum(p.as_text().count(" dot(") for p in programs_of(session, results, feed))
            one = one or count
            seconds = [built, spent["lower"], spent["compile"]]
            yield f"| {name} | {count / one:.0f} | {' | '.join(f'{s:.2f}' for s in seconds)} |"


def of_towers(way: Callable[[Any, int], Any], parts: Any) -> list[Any]:
    strategy = strategy_of("mirrored", len(parts))

    def tower() -> Any:
        k = tf.contrib.distribute.get_tower_context().tower_id
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            variables = [tf.get_variable(f"w{i}", [256, 256]) for i in range(4)]
            return tf.add_n([tf.reduce_sum(g) for g in tf.gradients(way(parts[k], k), variables)])

    with strategy.scope():
        return list(strategy.unwrap(strategy.call_for_each_tower(tower)))


@contextmanager
def clocked(owner: Any, name: str, spent: dict[str, float]) -> Iterator[None]:
    """Adds the CPU seconds of the calls of a method."""
    kept = getattr(owner, name)

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        try:
            return kept(*args, **kwargs)
        finally:
            spent[name] += time.process_time() - start

    setattr(owner, name, timed)
    try:
        yield
    finally:
        setattr(owner, name, kept)


_RESULT = re.compile(r"^\s*(?:ROOT )?%?(?P<name>[\w.-]+) = \w+\[(?P<dims>[\d,]*)\]")
_DOT = re.compile(r" dot\((?:\w+\[[\d,]*\]\S* )?%?(?P<left>[\w.-]+),.*lhs_contracting_dims=\{(?P<over>[\d,]*)\}")
_CALLED = re.compile(r"(?:calls|to_apply|body)=%?([\w.-]+)")
_CHOSEN = re.compile(r"branch_computations=\{([^}]*)\}")


def products(text: str) -> list[float]:
    """The flops of matrix products in a program: for each branch of its conditional what is done where it is taken."""
    bodies: dict[str, list[str]] = {}
    name = entry = ""
    for line in text.splitlines():
        if line.endswith("{") and not line.startswith(" "):
            name = line.removeprefix("ENTRY ").split()[0].lstrip("%")
            entry = name if line.startswith("ENTRY") else entry
            bodies[name] = []
        elif name:
            bodies[name].append(line)

    def flops(of: str) -> float:
        sizes = {m["name"]: numbers(m["dims"]) for line in bodies[of] if (m := _RESULT.match(line))}
        total = 0.0
        for line in bodies[of]:
            total += sum(flops(called) for called in _CALLED.findall(line) if called in bodies)
            if (dot := _DOT.search(line)) and (result := _RESULT.match(line)):
                over = [sizes[dot["left"]][i] for i in numbers(dot["over"])]
                total += 2.0 * math.prod(numbers(result["dims"])) * math.prod(over)
        return total

    around = flops(entry)
    chosen = [m[1] for lines in bodies.values() for line in lines if (m := _CHOSEN.search(line))]
    taken = [[flops(n.strip().lstrip("%")) for n in names.split(",")] for names in chosen]
    return [around + sum(of) for of in zip(*taken, strict=True)] if taken else [around]


def numbers(listed: str) -> list[int]:
    return [int(n) for n in listed.split(",") if n]


@contextmanager
def as_they_are() -> Iterator[None]:
    """Towers that are written by hand run one after the other."""
    kept = sessions.side_by_side
    sessions.side_by_side = lambda *_: None
    try:
        yield
    finally:
        sessions.side_by_side = kept


def by_hand(count: int) -> Iterator[str]:
    LIMITS.towers_on_cpu = True
    yield "| model | towers | as they are, ms a step | side by side, ms | ratio | flops of a device | a tower | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, make in WORKLOADS.items():
        workload = make()
        together, alone = Hand(workload, count), Hand(workload, 1)
        together.run()
        alone.run()
        with as_they_are():
            apart = Hand(workload, count)
            apart.run()
        taken = least({"apart": apart.run, "together": together.run}, time.perf_counter, 60)
        own, one = together.flops(), alone.flops()
        yield (
            f"| {name} | {count} | {1e3 * taken['apart']:.2f} | {1e3 * taken['together']:.2f} | "
            f"{taken['together'] / taken['apart']:.3f} | {own:.4g} | {one:.4g} | {own / one:.3f} |"
        )


class Hand:
    """A program whose towers are written in a loop over devices, with averaged gradients."""

    def __init__(self, workload: Workload, count: int):
        self.graph = tf.Graph()
        examples = [a[: workload.batch * count] for a in workload.examples()]
        with self.graph.as_default():
            whole = [tf.placeholder(a.dtype, a.shape) for a in examples]
            parts = zip(*[tf.split(p, count) for p in whole], strict=True)
            optimizer = workload.optimizer()
            gradients, losses = [], []
            for k, (inputs, labels) in enumerate(parts):
                with tf.device(f"/gpu:{k}"), tf.name_scope(f"tower_{k}"):
                    with tf.variable_scope("model", reuse=k > 0):
                        losses.append(workload.loss(inputs, labels, workload.initial))
                    gradients.append(optimizer.compute_gradients(losses[-1]))
            averaged = [
                (tf.reduce_mean(tf.stack([g for g, _ in pairs]), 0), pairs[0][1])
                for pairs in zip(*gradients, strict=True)
            ]
            self.fetches = [optimizer.apply_gradients(averaged), tf.add_n(losses) / count]
            self.feed = dict(zip(whole, examples, strict=True))
            self.session = tf.Session()
            self.session.run(tf.global_variables_initializer())

    def run(self) -> float:
        return float(self.session.run(self.fetches, self.feed)[1])

    def flops(self) -> float:
        return cost(programs_of(self.session, self.fetches, self.feed)[-1])["flops"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", default=",".join(TABLES), help=f"of {', '.join(TABLES)}")
    parser.add_argument("--towers", type=int, default=8)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.here:
        for table in arguments.tables.split(","):
            count = COUNTS.get(table, arguments.towers)
            environment = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}"}
            command = [sys.executable, "-m", "benchmarks.mirrored", "--here", "--tables", table]
            command += ["--towers", str(arguments.towers)]
            subprocess.run(command, check=True, env={**environment, "JAX_PLATFORMS": "cpu"})
        return
    tables: dict[str, Callable[[int], Iterator[str]]] = {
        "programs": programs, "steps": steps, "building": building, "towers": towers, "uneven": uneven,
        "classes": classes, "by_hand": by_hand,
    }  # fmt: skip
    tf.logging.set_verbosity(tf.logging.ERROR)
    for line in tables[arguments.tables](arguments.towers):
        print(line, flush=True)
    print()


if __name__ == "__main__":
    main()
