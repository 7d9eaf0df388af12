"""The input of step loops: memory and device programs of a run, overlap with a slow pipeline, time to serve Ctrl-C.

    python -m benchmarks.input_budget [--quick]

Each row of the table is measured in a process of its own. Its memory is the highest that the process has while runs are
under way, less what it has before; runs of more than 1 GB are measured once, with what they compile.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

import towerstrat.compat.v1 as tf
from benchmarks.harness import Devices
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS

KILO, MEGA = 1 << 10, 1 << 20
STEP_BYTES = (KILO, MEGA, 100 * MEGA)
STEPS = (10, 100, 1000)
RUNS = 3


class Loop:
    """A step loop over elements of some bytes that adds their mean to a variable.

    Args:
      dataset: of float32 vectors.
      work: how many small matrix products each step computes beside.
    """

    def __init__(self, dataset: Callable[[], Any], towers: int, steps: int, work: int = 0):
        self.graph = tf.Graph()
        strategy = tf.contrib.distribute.TPUStrategy(Devices(jax.devices()[:towers]), steps_per_run=steps)
        with self.graph.as_default(), strategy.scope():
            self.total = tf.get_variable("total", initializer=0.0, aggregation=tf.VariableAggregation.MEAN)
            self.steps = tf.get_variable("steps", initializer=0, aggregation=tf.VariableAggregation.ONLY_FIRST_TOWER)
            self.iterator = strategy.distribute_dataset(dataset).make_initializable_iterator()

            def tower(x: Any) -> Any:
                value = tf.reduce_mean(x)
                if work:
                    start = (0, tf.ones([64, 64]) * value)
                    _, made = tf.while_loop(lambda i, a: i < work, lambda i, a: (i + 1, tf.matmul(a, a) * 0.01), start)
                    value += 0.0 * tf.reduce_mean(made)
                return tf.group(self.total.assign_add(value), self.steps.assign_add(1))

            def step(context: Any, x: Any) -> Any:
                return strategy.group(strategy.call_for_each_tower(tower, x))

            self.run_op = strategy.run_steps_on_dataset(step, self.iterator, iterations=steps).run_op
            self.session = tf.Session()
            self.session.run([tf.global_variables_initializer(), self.iterator.initializer])

    def run(self) -> None:
        """Runs all steps, and waits for the last one."""
        self.session.run(self.run_op)
        self.session.run(self.steps)


def constant(size: int) -> Callable[[], Any]:
    return lambda: tf.data.Dataset.from_tensors(np.ones(size // 4, np.float32)).repeat()


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Watch:
    """While it is entered: the process' memory at its highest beyond the first, and the loop programs that ran."""

    def __enter__(self) -> Watch:
        gc.collect()
        self.before = self.highest = resident()
        self.programs = 0
        self.call = Program.__call__

        def counted(program: Program, *args: Any) -> Any:
            self.programs += type(program).__name__ == "StepLoopProgram"
            return self.call(program, *args)

        Program.__call__ = counted  # type: ignore[method-assign]
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.done.wait(0.002):
            self.highest = max(self.highest, resident())

    def __exit__(self, *exc: object) -> None:
        self.done.set()
        self.thread.join()
        Program.__call__ = self.call  # type: ignore[method-assign]


def memory_row(size: int, steps: int, towers: int) -> str:
    """The row of one kind of run, measured in this process."""
    loop = Loop(constant(size // towers), towers, steps)
    if size * steps <= 1 << 30:
        loop.run()
        loop.run()
        loop.session.run(loop.iterator.initializer)
    runs = RUNS if size * steps <= 1 << 30 else 1
    with Watch() as watch:
        start = time.perf_counter()
        for _ in range(runs):
            loop.run()
        seconds = (time.perf_counter() - start) / runs
    peak = (watch.highest - watch.before) / MEGA
    figures = f"{peak:.0f} | {watch.programs / runs:.1f} | {1e3 * seconds:.1f}"
    return f"| {towers} | {size / KILO:,.0f} | {steps:,} | {figures} |"


def rows(quick: bool) -> Iterator[str]:
    budget = LIMITS.input_of(jax.devices()[0]) // MEGA
    yield f"| towers | KB a step | steps per run | peak memory, MB (budget {budget}) | programs a run | ms a run |"
    yield "|---|---|---|---|---|---|"
    for towers in (1, 8):
        environment = os.environ | {"XLA_FLAGS": f"--xla_force_host_platform_device_count={towers}"}
        for size in STEP_BYTES:
            for steps in STEPS:
                if quick and size * steps > 1 << 30:
                    continue
                command = [sys.executable, "-m", "benchmarks.input_budget", "--row", f"{size},{steps},{towers}"]
                yield subprocess.run(
                    command, check=True, capture_output=True, text=True, env=environment
                ).stdout.splitlines()[-1]


def work_of(seconds: float) -> int:
    """How many products make a step that takes so long."""
    few, many = 200, 1200
    times = []
    for work in (few, many):
        loop = Loop(constant(KILO), 1, 4, work)
        loop.run()
        times.append(min(timed(loop.run) for _ in range(5)) / 4)
    return max(1, int(few + (seconds - times[0]) * (many - few) / (times[1] - times[0])))


def timed(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def generator_row(steps: int = 100, seconds: float = 5e-3) -> str:
    """An iterator over a slow generator that is initialised again for each run."""

    def batches() -> Iterator[Any]:
        for _ in range(steps):
            time.sleep(seconds)
            yield np.ones(KILO // 4, np.float32)

    def dataset() -> Any:
        return tf.data.Dataset.from_generator(batches, tf.float32, [KILO // 4])

    work = work_of(seconds)
    compute = Loop(constant(KILO), 1, steps, work)
    both = Loop(dataset, 1, steps, work)

    def epoch() -> None:
        both.session.run(both.iterator.initializer)
        both.run()

    for function in (compute.run, epoch, epoch):
        function()
    of_compute = statistics.median(timed(compute.run) for _ in range(5))
    of_input = statistics.median(timed(lambda: list(batches())) for _ in range(3))
    of_both = statistics.median(timed(epoch) for _ in range(5))
    figures = f"input {1e3 * of_input:.0f} ms, compute {1e3 * of_compute:.0f} ms, both {1e3 * of_both:.0f} ms"
    ratio = of_both / max(of_input, of_compute)
    return (
        f"An epoch of {steps} steps from a generator, initialised for each run: {figures}: {ratio:.2f} of the larger."
    )


def interrupt_row(steps: int = 1000, seconds: float = 50e-3, after: float = 4.0) -> str:
    """Ctrl-C in the middle of the first run of a loop of slow steps."""
    loop = Loop(constant(KILO), 1, steps, work_of(seconds))
    pressed = 0.0

    def press() -> None:
        nonlocal pressed
        pressed = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, press)
    timer.start()
    try:
        loop.run()
    except KeyboardInterrupt:
        served = time.perf_counter() - pressed
        done = loop.session.run(loop.steps)
        read = time.perf_counter() - pressed
        return (
            f"Ctrl-C after {after:.0f} s in a run of {steps:,} steps of {1e3 * seconds:.0f} ms: served {served:.2f} s "
            f"later; {read:.2f} s later the state ({done} steps) is read"
        )
    finally:
        timer.cancel()
    return f"The run of {steps:,} steps was over before Ctrl-C"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="no runs of more than 1 GB")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        print(memory_row(*map(int, arguments.row.split(","))))
        return
    for line in rows(arguments.quick):
        print(line, flush=True)
    print()
    print(generator_row(), flush=True)
    print(interrupt_row(), flush=True)


if __name__ == "__main__":
    main()
