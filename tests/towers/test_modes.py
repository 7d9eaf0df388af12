"""Each cell of the table of strategies and modes in docs/supported.md: what the page says is what happens."""

import pathlib
import re

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.towers.common import tpu
from towerstrat.graph.eager import mode

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "supported.md"
lib = tf.contrib.distribute
SUM = tf.VariableAggregation.SUM


def _table():
    """(strategy, call, mode, what the page says) of each cell."""
    section = PAGE.read_text().split("## Strategies and modes")[1].split("\n## ")[0]
    rows = [[c.strip() for c in line.strip("|\n").split("|")] for line in section.splitlines() if line.startswith("|")]
    _, _, *modes = rows[0]
    return [(r[0], r[1].strip("`"), m, said) for r in rows[2:] for m, said in zip(modes, r[2:], strict=True)]


def _tpu_of_2(replicas):
    resolver = tf2.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    topology = tf2.tpu.experimental.initialize_tpu_system(resolver)
    assignment = tf2.tpu.experimental.DeviceAssignment.build(topology, num_replicas=replicas)
    return tf2.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment)


STRATEGIES = {
    "none entered, `tf.contrib.distribute`": (1, lib.get_distribution_strategy),
    "`contrib.OneDeviceStrategy`": (1, lambda: lib.OneDeviceStrategy("/cpu:0")),
    "`contrib.TPUStrategy`, one tower": (1, lambda: tpu(1)),
    "`contrib.TPUStrategy`, three towers": (3, lambda: tpu(3)),
    "`contrib.MirroredStrategy`, one tower": (1, lambda: lib.MirroredStrategy(["/cpu:0"])),
    "`contrib.MirroredStrategy`, three towers": (3, lambda: lib.MirroredStrategy([f"/cpu:{i}" for i in range(3)])),
    "none entered, `tf.distribute`": (1, tf2.distribute.get_strategy),
    "`distribute.OneDeviceStrategy`": (1, lambda: tf2.distribute.OneDeviceStrategy("/cpu:0")),
    "`distribute.TPUStrategy`, one replica": (1, lambda: _tpu_of_2(1)),
    "`distribute.TPUStrategy`, three replicas": (3, lambda: _tpu_of_2(3)),
    "`distribute.MirroredStrategy`, one replica": (1, lambda: tf2.distribute.MirroredStrategy(["CPU:0"])),
    "`distribute.MirroredStrategy`, three replicas": (
        3,
        lambda: tf2.distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2"]),
    ),
}


def call_for_each_tower(strategy, wrap):
    """Each tower adds 1 to a variable; the sum over towers of twice the variable."""
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0, aggregation=SUM)

        def towers():
            value = strategy.call_for_each_tower(lambda: v.assign_add(tf.constant(1.0)) * 2.0)
            return tf.identity(strategy.reduce(SUM, value, destinations="/device:CPU:0"))

        return v, wrap(towers)()


def run_steps_on_dataset(strategy, wrap):
    """Three steps that add 1 for each tower; the variable after them."""
    with strategy.scope():
        v = tf.get_variable("v", initializer=1.0, aggregation=SUM)
        data = strategy.distribute_dataset(lambda: tf.data.Dataset.from_tensors(1.0).repeat())
        iterator = data.make_one_shot_iterator()

        def step(context, x):
            return strategy.group(strategy.call_for_each_tower(lambda x: v.assign_add(x), x))

        def steps():
            context = strategy.run_steps_on_dataset(step, iterator, 3)
            with tf.control_dependencies(() if context.run_op is None else [context.run_op]):
                return tf.identity(v.read_value())

        return v, wrap(steps)()


def run(strategy, wrap):
    """As of ``call_for_each_tower``."""
    with strategy.scope():
        v = tf2.Variable(1.0, aggregation=tf2.VariableAggregation.SUM)

        def replicas():
            value = strategy.run(lambda: v.assign_add(tf.constant(1.0)) * 2.0)
            return tf.identity(strategy.reduce("SUM", value, axis=None))

        return v, wrap(replicas)()


ERRORS = {"NotImplementedError": NotImplementedError}
CALLS = {
    "call_for_each_tower": (call_for_each_tower, lambda n: (2.0 * n * (1 + n), 1.0 + n)),
    "run_steps_on_dataset": (run_steps_on_dataset, lambda n: (1.0 + 3 * n, 1.0 + 3 * n)),
    "run": (run, lambda n: (2.0 * n * (1 + n), 1.0 + n)),
}


def _at_once(call, strategy, wrap):
    with mode.eager_mode():
        v, result = call(strategy(), wrap)
        return result.numpy(), v.numpy()


def _by_session(call, strategy, wrap):
    with tf.Graph().as_default(), tf.Session() as sess:
        v, result = call(strategy(), wrap)
        sess.run(v.initializer)
        return sess.run(result), sess.run(v)


MODES = {
    "graph": (_by_session, lambda f: f),
    "eager": (_at_once, lambda f: f),
    "function": (_at_once, tf2.function),
    "function in a graph": (_by_session, tf2.function),
}


@pytest.mark.parametrize(("strategy", "call", "how", "said"), _table(), ids=lambda x: re.sub(r"\W+", "-", x).strip("-"))
def test_what_the_page_says_happens(strategy, call, how, said):
    count, make = STRATEGIES[strategy]
    program, wanted = CALLS[call]
    carry_out, wrap = MODES[how]
    if said == "runs":
        assert carry_out(program, make, wrap) == wanted(count)
    else:
        with pytest.raises(ERRORS[said]):
            carry_out(program, make, wrap)


def test_the_table_has_every_strategy_call_and_mode():
    cells = [(strategy, how) for strategy, _, how, _ in _table()]
    assert set(cells) == {(strategy, how) for strategy in STRATEGIES for how in MODES}
    assert {call for _, call, _, _ in _table()} == set(CALLS)
