"""Programs of a run: as many as the bytes of its input and the time of its steps ask for, of two kinds at most."""

import os
import signal
import weakref

import jax
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.graph.runtime.loops import input_chunks
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS, Limits, _from_environment

SUM = tf.VariableAggregation.SUM


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """No program starts early because the input is slow on the machine that runs the tests."""
    monkeypatch.setattr(input_chunks, "_PATIENCE", 1e9)
    monkeypatch.setattr(LIMITS, "program_seconds", 1e9)


@pytest.fixture
def programs(monkeypatch):
    """The numbers of steps of the loop programs that ran."""
    found = []
    started = ChunkScheduler.started

    def noted(pace, marker, steps, start):
        started(pace, marker, steps, start)
        found.append(steps)
        assert len(pace._under_way) <= 2

    monkeypatch.setattr(ChunkScheduler, "started", noted)
    return found


@pytest.fixture
def compiled(monkeypatch):
    """The loop programs that were traced."""
    found = []
    lowered = Program.lowered

    def noted(program, *args):
        if type(program).__name__ == "StepLoopProgram":
            found.append(program)
        return lowered(program, *args)

    monkeypatch.setattr(Program, "lowered", noted)
    return found


def counting(strategy, iterations, size=1):
    """A loop that adds up the numbers of its elements, and (the variable, the loop)."""
    v = tf.get_variable("v", initializer=tf.constant(0, tf.int64), aggregation=SUM)
    dataset = tf.data.Dataset.range(10**6).map(lambda i: tf.fill([size], i))
    iterator = dataset.make_initializable_iterator()
    context = strategy.run_steps_on_dataset(
        lambda c, x: strategy.group(strategy.call_for_each_tower(lambda x: v.assign_add(x[0]), x)), iterator, iterations
    )
    return v, iterator, context.run_op


def started(strategy, iterations, size=1):
    v, iterator, run_op = counting(strategy, iterations, size)
    sess = tf.Session()
    sess.run([v.initializer, iterator.initializer])
    return v, run_op, sess


@pytest.mark.parametrize("towers", [1, 2])
def test_a_run_whose_input_fits_is_one_program_from_the_second_run_on(towers, programs):
    strategy = tpu(towers)
    with strategy.scope():
        v, run_op, sess = started(strategy, 100)
        sess.run(run_op)
        assert programs == [1, 99]
        del programs[:]
        sess.run(run_op)
        assert programs == [100]
        assert sess.run(v) == sum(range(200 * towers))


@pytest.mark.parametrize("towers", [1, 8])
def test_no_more_input_is_held_than_the_budget_says(monkeypatch, towers, programs):
    monkeypatch.setattr(LIMITS, "input_bytes", 12_000 * towers)
    alive, highest = {}, [0]
    aligned = input_chunks._aligned

    def noted(shape, dtype):
        buffer = aligned(shape, dtype)
        owner = buffer.base
        alive[id(owner)] = owner.nbytes
        weakref.finalize(owner, alive.pop, id(owner))
        highest[0] = max(highest[0], sum(alive.values()))
        return buffer

    monkeypatch.setattr(input_chunks, "_aligned", noted)
    strategy = tpu(towers)
    with strategy.scope():
        v, run_op, sess = started(strategy, 97, size=100)
        for _ in range(3):
            sess.run(run_op)
        assert sess.run(v) == sum(range(3 * 97 * towers))
    assert max(programs) * 800 * towers <= 12_000 * towers // 2
    assert highest[0] <= 12_000 * towers + 3 * 64


def test_a_step_larger_than_the_budget_is_a_program(monkeypatch, programs):
    monkeypatch.setattr(LIMITS, "input_bytes", 100)
    strategy = tpu(1)
    with strategy.scope():
        v, run_op, sess = started(strategy, 5, size=1000)
        sess.run(run_op)
        assert programs == [1] * 5
        assert sess.run(v) == 10


@pytest.mark.parametrize("steps", [11, 13, 101, 997])
def test_primes_and_shortened_runs_compile_one_full_program_and_one_for_the_rest(monkeypatch, steps, compiled):
    monkeypatch.setattr(ChunkScheduler, "fitting", lambda pace, step_bytes: 10)
    strategy = tpu(1)
    with strategy.scope():
        count = tf.placeholder_with_default(steps, [])
        v, run_op, sess = started(strategy, count)
        done = 0
        for number in (steps, steps, 7, 1, steps - 1, 3):
            sess.run(run_op, {count: number})
            done += number
        assert sess.run(v) == sum(range(done))
    assert len(compiled) <= 2


def test_slow_steps_make_several_programs_of_one_shape(monkeypatch, programs, compiled):
    monkeypatch.setattr(LIMITS, "program_seconds", 2.0)
    finish = ChunkScheduler._finish

    def slow(pace):
        finish(pace)
        pace.seconds = 0.3

    monkeypatch.setattr(ChunkScheduler, "_finish", slow)
    strategy = tpu(1)
    with strategy.scope():
        v, run_op, sess = started(strategy, 10)
        sess.run(run_op)
        assert programs[0] == 1
        assert max(programs) <= 6
        del programs[:]
        sess.run(run_op)
        assert max(programs) <= 6
        assert sum(programs) == 10
        assert sess.run(v) == sum(range(20))
    assert len(compiled) == 1


class StoppedError(Exception):
    pass


def _stop(number, frame):
    raise StoppedError


@pytest.mark.parametrize(
    ("number", "handler", "raised"),
    [
        (signal.SIGINT, signal.default_int_handler, KeyboardInterrupt),
        (signal.SIGINT, _stop, StoppedError),
        (signal.SIGTERM, _stop, StoppedError),
    ],
)
def test_a_signal_while_a_program_is_called_finds_the_state_whole(monkeypatch, number, handler, raised):
    monkeypatch.setattr(ChunkScheduler, "fitting", lambda pace, step_bytes: 2)
    strategy = tpu(2)
    call, left = jax.stages.Compiled.__call__, [0]

    def pressed(program, *args):
        result = call(program, *args)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), number)
        return result

    monkeypatch.setattr(jax.stages.Compiled, "__call__", pressed)
    before = signal.signal(number, handler)
    try:
        with strategy.scope():
            v, run_op, sess = started(strategy, 6)
            left[0] = 3
            with pytest.raises(raised):
                sess.run(run_op)
            assert signal.getsignal(number) is handler
            done = {sum(range(2 * steps)): steps for steps in range(1, 7)}[int(sess.run(v))]
            sess.run(run_op)
            assert sess.run(v) == sum(range(2 * (done + 6)))
    finally:
        signal.signal(number, before)


def test_input_that_is_slow_starts_programs_early_and_in_order(monkeypatch, programs):
    monkeypatch.setattr(input_chunks, "_PATIENCE", 0.0)
    strategy = tpu(2)
    with strategy.scope():
        v, run_op, sess = started(strategy, 300)
        for _ in range(2):
            sess.run(run_op)
        assert sess.run(v) == sum(range(1200))
    assert sum(programs) == 600


def test_a_failed_step_behind_input_that_was_taken_ahead():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        iterator = tf.data.Dataset.range(1000).map(tf.to_float).make_one_shot_iterator()
        element = iterator.get_next()
        v = tf.get_variable("v", initializer=0.0, aggregation=SUM)

        def tower(x):
            return v.assign_add(x + 0.0 * tf.check_numerics(tf.log(tf.abs(x - 29.0)), "log of zero"))

        run_op = strategy.run_steps_on_dataset(
            lambda c, x: strategy.group(strategy.call_for_each_tower(tower, x)), iterator, 10
        ).run_op
        sess.run(v.initializer)
        sess.run(run_op)
        with pytest.raises(tf.errors.InvalidArgumentError, match="after the 4 steps before it"):
            sess.run(run_op)
        assert sess.run([v, element]) == [sum(range(28)), 30]


def test_the_budget_is_set_in_one_place(monkeypatch):
    cpu = jax.devices("cpu")[0]
    assert Limits().input_of(cpu) == 64 << 20
    assert _from_environment({"TOWERSTRAT_INPUT_MB": "3", "TOWERSTRAT_PROGRAMS_MB": "5"}).input_of(cpu) == 3 << 20

    class Accelerator:
        platform = "gpu"

        def memory_stats(self):
            return {"bytes_limit": 64 << 30}

    assert Limits().input_of(Accelerator()) == 1 << 30
    assert Limits(input_bytes=7).input_of(Accelerator()) == 7
