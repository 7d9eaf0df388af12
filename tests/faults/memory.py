"""Programs that run long: the memory of a process stays bounded. Each row is a process of its own."""

import gc
import json
import random
import subprocess
import sys
import weakref

import jax
import numpy as np

import towerstrat.compat.v1 as tf
from tests.faults.outcome import Outcome
from tests.hosts.several import ROOT, environment

MIB = 1 << 20
SHAPES = 300


def resident():
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class _Compilations:
    """The number of programs that were compiled since it was made."""

    def __init__(self):
        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._more)

    def _more(self, name, *rest, **named):
        self.count += "backend_compile" in name


def runs_of_many_shapes(runs):
    """Runs a step with vectors of drawn lengths: the memory after a tenth of the runs, and at the end."""
    compilations, draws, total, memory = _Compilations(), random.Random(0), 1, []
    x = tf.placeholder(tf.float32, [None])
    step = tf.assign_add(tf.get_variable("w", initializer=1.0), tf.reduce_sum(x))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(1, runs + 1):
            length = draws.randint(1, SHAPES)
            total += length
            found = session.run(step, {x: np.ones(length, np.float32)})
            if number in (runs // 10, runs):
                memory.append(resident())
    assert found == total, (found, total)
    return {"memory": memory, "compilations": compilations.count, "runs": runs}


def rebuilt_graphs(graphs):
    """Builds a graph and trains it a little, again and again: the memory after a tenth, and at the end."""
    memory, made = [], []
    for number in range(1, graphs + 1):
        made.append(weakref.ref(train_a_little()))
        if number in (graphs // 10, graphs):
            gc.collect()
            memory.append(resident())
    return {"memory": memory, "left": sum(graph() is not None for graph in made), "graphs": graphs}


def train_a_little():
    """A graph with layers, slots, a summary, a data set and a saver, after three steps in a session of its own."""
    with tf.Graph().as_default() as graph:
        number = tf.data.Dataset.range(9).map(lambda v: v * 2).batch(2).prefetch(1).make_one_shot_iterator().get_next()
        x = tf.placeholder(tf.float32, [None, 4])
        loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 200) - 1.0))
        train = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_or_create_global_step())
        tf.summary.scalar("loss", loss)
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run([train, loss, number, tf.summary.merge_all()], {x: np.ones([2, 4], np.float32)})
        assert saver.saver_def is not None
    return graph


def _apart(name, count):
    """The result of one of these functions in a process of its own."""
    command = [sys.executable, "-m", "tests.faults.memory", name, str(count)]
    environ = {**environment(), "JAX_PLATFORMS": "cpu", "TOWERSTRAT_COMPILATION_CACHE": "off"}
    done = subprocess.run(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def changing_shapes(folder):
    """10,000 runs of a session with vectors of 300 lengths, drawn"""
    found = _apart("runs_of_many_shapes", 10_000)
    before, after = found["memory"]
    assert after - before < 64 * MIB, found
    return Outcome(
        f"{found['compilations']:,} compilations: 128 programs of one part are kept, the least recently used go; "
        "every value is right",
        f"{before // MIB} MiB after 1,000 runs, {after // MIB} MiB after 10,000",
    )  # fmt: skip


def graphs(folder):
    """100 graphs, one after another, each trained in a session of its own"""
    found = _apart("rebuilt_graphs", 100)
    before, after = found["memory"]
    assert found["left"] == 0, found
    assert after - before < 32 * MIB, found
    return Outcome(
        "no graph is left once the program has let go of it",
        f"{before // MIB} MiB after 10 graphs, {after // MIB} MiB after 100",
    )


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](int(sys.argv[2]))))
