"""Programs of a run: as many as the bytes of its input ask for, of two kinds at most."""

import os
import signal
import weakref

import jax
import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.graph.runtime.loops import chunk_sizing, input_chunks
from towerstrat.graph.runtime.loops.chunk_sizing import ChunkScheduler
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop
from towerstrat.graph.runtime.programs.device_program import Program
from towerstrat.graph.runtime.programs.limits import LIMITS, Limits, _from_environment

SUM = tf.VariableAggregation.SUM


@pytest.fixture(autouse=True)
def _only_what_runs_is_compiled(monkeypatch):
    monkeypatch.setattr(LIMITS, "compare_loops", False)


@pytest.fixture
def programs(monkeypatch):
    """The numbers of steps of the loop programs that ran."""
    found = []
    note_start = ChunkScheduler.note_start

    def noted(pace, marker, steps, start):
        note_start(pace, marker, steps, start)
        found.append(steps)
        assert len(pace._under_way) <= 2

    monkeypatch.setattr(ChunkScheduler, "note_start", noted)
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


@pytest.fixture
def loops(monkeypatch):
    """Of each loop program that is compiled the length of its scan; None where it has a loop of a number it is told."""
    found = []
    lower = jax.stages.Traced.lower

    def noted(traced, *args, **kwargs):
        names = {e.primitive.name: e.params for e in _steps_of(traced.jaxpr.jaxpr)}
        if "scan" in names or "while" in names:
            found.append(names["scan"]["length"] if "scan" in names else None)
        return lower(traced, *args, **kwargs)

    monkeypatch.setattr(jax.stages.Traced, "lower", noted)
    return found


def _steps_of(jaxpr):
    """The equations of a program, of what it calls too, but of no loop's body."""
    for equation in jaxpr.eqns:
        yield equation
        inner = equation.params.get("jaxpr")
        if equation.primitive.name not in ("scan", "while") and inner is not None:
            yield from _steps_of(getattr(inner, "jaxpr", inner))


@pytest.mark.parametrize("towers", [1, 2])
def test_a_run_whose_input_fits_is_one_program_with_one_scan_of_its_steps(towers, programs, loops):
    strategy = tpu(towers)
    with strategy.scope():
        v, run_op, sess = started(strategy, 100)
        for _ in range(2):
            sess.run(run_op)
        assert programs == [100, 100]
        assert sess.run(v) == sum(range(200 * towers))
    assert loops == [100]


def test_a_larger_run_is_parts_of_one_length_and_the_rest_goes_two_by_two(monkeypatch, programs, loops):
    monkeypatch.setattr(LIMITS, "input_bytes", 8 * 25)
    strategy = tpu(1)
    with strategy.scope():
        v, run_op, sess = started(strategy, 97)
        for _ in range(2):
            sess.run(run_op)
        assert programs == [25, 25, 25, *[2] * 11] * 2
        assert sess.run(v) == sum(range(2 * 97))
    assert loops == [25, None]


def test_single_steps_are_a_loop_over_room_for_two(programs, loops):
    strategy = tpu(2)
    with strategy.scope():
        v, run_op, sess = started(strategy, 1)
        for _ in range(3):
            sess.run(run_op)
        assert programs == [1, 1, 1]
        assert sess.run(v) == sum(range(6))
    assert loops == [None]


def test_the_end_of_the_data_in_a_scan_is_steps_two_by_two(programs, loops):
    strategy = tpu(1)
    with strategy.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=tf.constant(0, tf.int64), aggregation=SUM)
        iterator = tf.data.Dataset.range(25).make_initializable_iterator()
        run_op = strategy.run_steps_on_dataset(
            lambda c, x: strategy.group(strategy.call_for_each_tower(v.assign_add, x)), iterator, 10
        ).run_op
        sess.run([v.initializer, iterator.initializer])
        for _ in range(2):
            sess.run(run_op)
        with pytest.raises(tf.errors.OutOfRangeError, match="5 of 10 steps"):
            sess.run(run_op)
        assert programs == [10, 10, 2, 2, 1]
        assert sess.run(v) == sum(range(25))
    assert loops == [10, None]


@pytest.mark.parametrize(("towers", "first", "length"), [(1, 100, 25), (2, 50, 15)])
def test_the_budget_counts_what_the_compiler_lays_the_input_out_in(monkeypatch, programs, loops, towers, first, length):
    monkeypatch.setattr(LIMITS, "input_bytes", 1 << 20)

    def memory(program):  # of a compiler that pads the input to four times its size, beside 5 MB that no input is
        return 4 * program.room * 8 * 1000 + (5 << 20)

    monkeypatch.setattr(Program, "memory", property(memory))
    strategy = tpu(towers)
    with strategy.scope():
        v, run_op, sess = started(strategy, 100, size=1000)
        for _ in range(2):
            sess.run(run_op)
        assert sess.run(v) == sum(range(200 * towers))
    # 33 steps of 32,000 bytes fit, on two devices of one memory 16, and what the loop needs besides is not counted
    assert programs == [*[length] * (100 // length), *[2] * (100 % length // 2)] * 2
    assert set(loops) == {first, length, None}


def test_where_a_compiler_makes_two_things_of_a_step_all_go_through_the_told_loop(monkeypatch, programs, loops, caplog):
    monkeypatch.setattr(LIMITS, "compare_loops", True)
    monkeypatch.setattr(chunk_sizing, "differences", lambda scan, told: ["- % = f32[2] add(%, %)"])
    strategy = tpu(1)
    with strategy.scope():
        v, run_op, sess = started(strategy, 9)
        for _ in range(2):
            sess.run(run_op)
        assert sess.run(v) == sum(range(18))
    assert programs == [2, 2, 2, 2, 1] * 2
    assert loops == [9, None]
    (said,) = [r.getMessage() for r in caplog.records if "told" in r.getMessage()]
    assert "test_input_budget.py" in said
    assert "f32[2] add" in said


def test_what_a_run_leaves_over_is_compiled_beside_its_scan(monkeypatch, programs, loops):
    beside = []
    begin = Program.begin_to_prepare

    def noted(program, *args):
        begin(program, *args)
        beside.append(program.room)

    monkeypatch.setattr(Program, "begin_to_prepare", noted)
    strategy = tpu(2)
    with strategy.scope():
        count = tf.placeholder_with_default(1, [])
        v, run_op, sess = started(strategy, count)
        for number in (8, 8):
            sess.run(run_op, {count: number})
        assert not beside
        sess.remainder_foreseen = True
        for number in (8, 8, 3):
            sess.run(run_op, {count: number})
        assert sess.run(v) == sum(range(70))
    assert programs == [8, 8, 8, 8, 2, 1]
    assert loops == [8, None]
    assert beside == [2]


@pytest.mark.parametrize(("asked", "scans"), [([10, 9, 9, 9], [10, None, 9]), ([10, 30, 10], [10, 30, None])])
def test_a_loop_has_the_scan_that_its_runs_ask_for(asked, scans, loops):
    strategy = tpu(1)
    with strategy.scope():
        count = tf.placeholder_with_default(1, [])
        v, run_op, sess = started(strategy, count)
        for number in asked:
            sess.run(run_op, {count: number})
        assert sess.run(v) == sum(range(sum(asked)))
    assert loops == scans


@pytest.mark.parametrize("towers", [1, 2])
def test_what_is_lowered_without_a_run_is_what_a_run_compiles(monkeypatch, towers):
    """The programs that benchmarks compile."""
    found, lowered = [], Program.lowered

    def noted(program, *args):
        made = lowered(program, *args)
        if type(program).__name__ == "StepLoopProgram":
            found.append(made.as_text())
        return made

    monkeypatch.setattr(Program, "lowered", noted)
    strategy = tpu(towers)
    with strategy.scope():
        _, run_op, sess = started(strategy, 10, size=3)
        sess.run(run_op)
        loop = next(op for op in run_op.graph.get_operations() if op.type == "StepLoop")
        lower_loop(loop, 10)
    assert len(found) == 2
    assert found[0] == found[1]


def trained(strategy, runs):
    """The variables of a model after runs of so many steps."""
    with tf.Graph().as_default(), strategy.scope(), tf.Session() as sess:
        images = np.random.RandomState(0).randn(64, 8, 6, 6, 2).astype(np.float32)
        labels = np.random.RandomState(1).randint(0, 5, (64, 8)).astype(np.int32)
        iterator = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().make_initializable_iterator()

        def tower(x, y):
            hidden = tf.layers.conv2d(x, 4, 3, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
            hidden = tf.nn.relu(tf.layers.batch_normalization(hidden, training=True))
            hidden = tf.layers.dropout(tf.layers.flatten(hidden), 0.3, seed=4, training=True)
            logits = tf.layers.dense(hidden, 5, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
            loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                return tf.train.AdamOptimizer(0.01).minimize(loss)

        def step(context, x, y):
            return strategy.group(strategy.call_for_each_tower(tower, x, y))

        count = tf.placeholder(tf.int32, [])
        run_op = strategy.run_steps_on_dataset(step, iterator, count).run_op
        sess.run([tf.global_variables_initializer(), iterator.initializer])
        for number in runs:
            sess.run(run_op, {count: number})
        return sess.run(tf.global_variables())


@pytest.mark.parametrize("towers", [1, 2])
def test_a_step_s_bits_do_not_depend_on_how_runs_are_divided(monkeypatch, towers):
    whole = trained(tpu(towers), [12])
    for runs in ([1] * 12, [5, 7], [2, 10]):
        assert all(np.array_equal(a, b) for a, b in zip(trained(tpu(towers), runs), whole, strict=True)), runs
    monkeypatch.setattr(ChunkScheduler, "fitting", lambda pace, step_bytes: 5)
    assert all(np.array_equal(a, b) for a, b in zip(trained(tpu(towers), [12]), whole, strict=True))


@pytest.mark.parametrize("towers", [1, 8])
def test_no_more_input_is_held_than_the_budget_says(monkeypatch, towers, programs):
    monkeypatch.setattr(LIMITS, "input_bytes", 12_000 * towers)
    alive, highest = {}, [0]
    aligned = input_chunks._aligned_array

    def noted(shape, dtype):
        buffer = aligned(shape, dtype)
        owner = buffer.base
        alive[id(owner)] = owner.nbytes
        weakref.finalize(owner, alive.pop, id(owner))
        highest[0] = max(highest[0], sum(alive.values()))
        return buffer

    monkeypatch.setattr(input_chunks, "_aligned_array", noted)
    strategy = tpu(towers)
    with strategy.scope():
        v, run_op, sess = started(strategy, 97, size=100)
        for _ in range(3):
            sess.run(run_op)
        assert sess.run(v) == sum(range(3 * 97 * towers))
    assert max(programs) * 800 * towers <= 12_000 * towers
    assert highest[0] <= 3 * (12_000 * towers + 64)


def test_of_steps_larger_than_the_budget_two_are_a_program(monkeypatch, programs):
    monkeypatch.setattr(LIMITS, "input_bytes", 100)
    strategy = tpu(1)
    with strategy.scope():
        v, run_op, sess = started(strategy, 5, size=1000)
        sess.run(run_op)
        assert programs == [2, 2, 1]
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


def test_steps_that_the_user_put_together_stay_so_however_long_they_take(monkeypatch, programs):
    monkeypatch.setattr(LIMITS, "program_seconds", 1e-6)
    strategy = tpu(1)
    with strategy.scope():
        v, run_op, sess = started(strategy, 10)
        for _ in range(2):
            sess.run(run_op)
        assert programs == [10, 10]
        assert sess.run(v) == sum(range(20))


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
    assert Limits().input_of(cpu) == 256 << 20
    assert _from_environment({"TOWERSTRAT_INPUT_MB": "3", "TOWERSTRAT_PROGRAMS_MB": "5"}).input_of(cpu) == 3 << 20

    class Accelerator:
        platform = "gpu"

        def memory_stats(self):
            return {"bytes_limit": 64 << 30}

    assert Limits().input_of(Accelerator()) == 8 << 30
    assert Limits(input_bytes=7).input_of(Accelerator()) == 7
