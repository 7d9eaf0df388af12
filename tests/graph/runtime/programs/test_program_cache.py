"""Compiled programs: found again by their signature, dropped where there are too many, compiled again when needed."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.runtime.programs import compilation_log, program_cache
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.graph.runtime.programs.program_cache import OwnedPrograms, ProgramCache


@pytest.fixture
def lowerings(monkeypatch):
    """The programs traced so far."""
    found = []
    lowered = Program.lowered

    def noting(self, *args):
        found.append(self)
        return lowered(self, *args)

    monkeypatch.setattr(Program, "lowered", noting)
    return found


def sizes_of(session, fetch, feed, sizes):
    return [session.run(fetch, {feed: np.ones(n, np.float32)}) for n in sizes]


def test_programs_of_feed_shapes_are_bounded_and_the_least_recently_used_goes_first(monkeypatch, lowerings):
    monkeypatch.setattr(LIMITS, "programs_of_one", 3)
    x = tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(x)
    with tf.Session() as session:
        assert sizes_of(session, total, x, [1, 2, 3, 1, 4]) == [1, 2, 3, 1, 4]
        assert len(lowerings) == 4
        assert sizes_of(session, total, x, [1, 3, 4]) == [1, 3, 4]
        assert len(lowerings) == 4
        assert sizes_of(session, total, x, [2]) == [2]
        assert len(lowerings) == 5


def test_bytes_of_all_programs_are_bounded(monkeypatch):
    monkeypatch.setattr(LIMITS, "program_bytes", 5)
    first, second = OwnedPrograms(), OwnedPrograms()
    first.add("a", 1, 2)
    second.add("b", 2, 2)
    assert (first.get("a"), second.get("b")) == (1, 2)
    first.get("a")
    second.add("c", 3, 2)
    assert (first.get("a"), second.get("b"), second.get("c")) == (1, None, 3)
    first.add("large", 4, 100)
    assert (first.get("a"), second.get("c"), first.get("large")) == (None, None, 4)


def test_programs_go_with_their_owner(monkeypatch):
    cache = ProgramCache()  # of the cache of this process the programs of other tests go too, when they are collected
    monkeypatch.setattr(program_cache, "CACHE", cache)
    owner = OwnedPrograms()
    owner.add("a", 1, 10)
    assert (len(cache), cache.size) == (1, 10)
    del owner
    gc.collect()
    assert (len(cache), cache.size) == (0, 0)


def test_a_session_alone_runs_every_operation_below_it():
    program = """
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.ir import op_registry as registry
alone = set(registry.types())
from towerstrat.compat.names import public_names as table
table.names(1), table.names(2)
rooms = ("ops", "scopes", "variables", "runtime")
for name in sorted(set(registry.types()) - alone):
    module = registry.lookup(name).rule.__module__
    assert not module.startswith(tuple(f"towerstrat.graph.{room}." for room in rooms)), (name, module)
print(len(alone))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


def test_a_captured_number_that_is_fed_compiles_a_step_loop_once(lowerings):
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    rate = tf.placeholder(tf.float32, [])
    with strategy.scope(), tf.Session() as session:
        v = tf.get_variable("v", initializer=0.0)
        half = rate * 0.5
        iterator = tf.data.Dataset.range(100).make_one_shot_iterator()
        context = strategy.run_steps_on_dataset(lambda c, x: v.assign_add(half), iterator, 2)
        session.run(v.initializer)
        del lowerings[:]
        for value in (1.0, 2.0, 3.0):
            session.run(context.run_op, {rate: value})
        assert session.run(v) == 6.0
    assert [type(p).__name__ for p in lowerings].count("StepLoopProgram") == 1


def test_programs_for_ever_new_shapes_are_logged_once_with_the_shape_and_the_way_out(caplog):
    x = tf.placeholder(tf.float32, [None], "x")
    total = tf.reduce_sum(x)
    with tf.Session() as session:
        sizes_of(session, total, x, [1, 2])
        assert not caplog.records
        sizes_of(session, total, x, [3, 4, 5, 6])
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "3. time" in record.message
    assert "x:0 (created at " in record.message
    assert "is float32[3], it was float32[2] before" in record.message
    assert "drop_remainder=True" in record.message


def test_a_slow_compilation_is_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(compilation_log, "SLOW", -1.0)
    v = tf.get_variable("v", initializer=1.0)
    doubled = v * 2.0
    with caplog.at_level("INFO"), tf.Session() as session:
        session.run(v.initializer)
        caplog.clear()
        assert [session.run(doubled) for _ in range(2)] == [2.0, 2.0]
    (record,) = caplog.records
    assert (record.levelname, "for its first run" in record.message) == ("INFO", True)
