"""Several steps per return: whatever a program does with its session, it sees what steps one by one give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import towerstrat.compat.v1 as tf
from tests.spread import spread
from towerstrat.graph.runtime.loops import plan_as_step
from towerstrat.graph.runtime.programs.limits import LIMITS

ROWS = np.random.RandomState(0).randn(64, 3).astype(np.float32)


def model(rows=ROWS, batch=4, repeat=3, drop=True):
    """A training operation with state of all kinds: slots, random counters, a step counter, checks."""
    data = tf.data.Dataset.from_tensor_slices(rows).shuffle(10, seed=1).repeat(repeat).batch(batch, drop_remainder=drop)
    x = data.make_one_shot_iterator().get_next()
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    noise = tf.random_uniform([3, 1], seed=2)
    loss = tf.check_numerics(tf.reduce_mean((tf.matmul(x, w + 0.1 * noise) - 1.0) ** 2), "bad loss")
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, step)
    return {"train": train, "loss": loss, "step": step, "w": w, "x": x, "batch": batch}


def session_of(ahead, limit=lambda state: None):
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    if ahead:
        session.run_ahead(limit)
    return session


ACTIONS = {
    "other fetches": lambda s, m: s.run([m["w"], tf.get_collection("made")[0]]),
    "an element": lambda s, m: s.run(m["x"]),
    "a fed run": lambda s, m: s.run(m["loss"], {m["x"]: ROWS[: m["batch"]]}),
    "fed training": lambda s, m: s.run([m["train"], m["loss"]], {m["x"]: ROWS[: m["batch"]]})[1],
    "a variable loaded": lambda s, m: m["w"].load(np.full((3, 1), 0.5, np.float32), s),
    "a variable read": lambda s, m: m["w"].eval(s),
    "saving": lambda s, m: tf.get_collection("savers")[0].save(s, tf.get_collection("folder")[0]) and None,
    "restoring": lambda s, m: tf.get_collection("savers")[0].restore(s, tf.get_collection("folder")[0]),
    "a full trace": lambda s, m: s.run(
        [m["train"], m["loss"]], options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
        run_metadata=tf.RunMetadata())[1],
}  # fmt: skip


def record(program, ahead, folder, **options):
    """All that a program sees: ``program`` is a list of numbers of runs, and of what is done between them."""
    tf.reset_default_graph()
    made = model(**options)
    tf.add_to_collection("made", tf.reduce_sum(made["w"]))
    tf.add_to_collection("savers", tf.train.Saver())
    tf.add_to_collection("folder", f"{folder}/{ahead}")
    seen = []
    with session_of(ahead) as session:
        tf.get_collection("savers")[0].save(session, f"{folder}/{ahead}")
        try:
            for part in program:
                if isinstance(part, str):
                    seen.append(ACTIONS[part](session, made))
                    continue
                for _ in range(part):
                    seen.append(session.run([made["train"], made["loss"], made["step"]])[1:])
        except tf.errors.OpError as error:
            seen.append((type(error).__name__, error.message.partition("\n")[0]))
        seen.append(session.run({"step": made["step"], "w": made["w"]}))
        returns = session.ahead.returns if ahead else 0
    return seen, returns


def assert_same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_equal(a, b)


@spread("action", ACTIONS, every=5)
def test_between_runs(action, tmp_path):
    program = [9, action, 5, action, 1, action, 12]
    (plain, _), (ahead, returns) = record(program, False, tmp_path), record(program, True, tmp_path)
    assert_same(plain, ahead)
    assert returns


@pytest.mark.long
@settings(max_examples=60)
@given(st.lists(st.integers(1, 20) | st.sampled_from(sorted(ACTIONS)), max_size=8), st.booleans())
def test_any_program(tmp_path_factory, program, drop):
    folder = tmp_path_factory.mktemp("saved")
    options = {"batch": 5, "drop": drop}
    assert_same(record(program, False, folder, **options)[0], record(program, True, folder, **options)[0])


def test_the_end_of_the_data(tmp_path):
    plain, ahead = (record([100], a, tmp_path)[0] for a in (False, True))
    assert_same(plain, ahead)
    assert plain[-2][0] == "OutOfRangeError"
    assert len(plain) == 48 + 2


@spread("at", [30, 0, 1, 7], every=4)
def test_a_check_that_fails(at, tmp_path):
    rows = ROWS.copy()
    rows[at] = np.nan
    plain, ahead = (record([100], a, tmp_path, rows=rows)[0] for a in (False, True))
    assert_same(plain, ahead)
    assert plain[-2][0] == "InvalidArgumentError"


def test_a_pipeline_that_fails(tmp_path):
    def rows():
        yield from ROWS[:20]
        raise RuntimeError("no more rows")

    def run(ahead):
        tf.reset_default_graph()
        x = tf.data.Dataset.from_generator(rows, tf.float32, [3]).make_one_shot_iterator().get_next()
        total = tf.get_variable("total", [3], initializer=tf.zeros_initializer())
        add = total.assign_add(x)
        seen = []
        with session_of(ahead) as session:
            with pytest.raises(tf.errors.UnknownError, match="no more rows"):
                while True:
                    seen.append(session.run(add))
            seen.append(session.run(total))
        return seen

    assert_same(run(False), run(True))


def counted(limit, runs, fetches=None):
    tf.reset_default_graph()
    made = model(repeat=None)
    with session_of(True, limit) as session:
        for _ in range(runs):
            session.run(fetches or [made["train"], made["loss"]])
        return session.ahead


def test_as_many_steps_as_the_caller_allows():
    done = []

    def limit(state):
        done.append(None)
        return 10

    ahead = counted(limit, 1 + 2 + 10 * 5)
    assert (ahead.returns, ahead.wasted) == (6, 0)
    assert counted(lambda state: 1, 50).returns == 0


def test_steps_per_return_overrules(monkeypatch):
    monkeypatch.setattr(LIMITS, "steps_per_return", 5)
    assert counted(lambda state: 1, 1 + 2 + 5 * 5).returns == 6
    monkeypatch.setattr(LIMITS, "steps_per_return", 1)
    assert counted(lambda state: None, 50).returns == 0


def test_a_use_at_regular_steps_is_learned(monkeypatch):
    monkeypatch.setattr(LIMITS, "return_seconds", 3600.0)  # a loaded machine learns the same
    made = model(repeat=None)
    with session_of(True) as session:
        for i in range(1, 401):
            session.run([made["train"], made["loss"]])
            if i % 20 == 0:
                session.run(made["w"])
        assert session.ahead.wasted <= 64
        assert session.ahead.returns <= 40


@pytest.mark.parametrize(
    ("fetch", "why"),
    [
        (lambda m: [m["train"], tf.py_func(lambda x: x, [m["loss"]], tf.float32)], "the host runs"),
        (lambda m: [m["train"], m["x"] + model.second], "2 iterators"),
    ],
)
def test_what_is_not_run_ahead_is_said_once(fetch, why, caplog):
    made = model(repeat=None)
    model.second = tf.data.Dataset.range(1000).map(lambda i: tf.cast(i, tf.float32)).make_one_shot_iterator().get_next()
    wanted = fetch(made)
    with caplog.at_level("INFO", "tensorflow"), session_of(True) as session:
        for _ in range(5):
            session.run(wanted)
        assert session.ahead.returns == 0
    (line,) = [r.getMessage() for r in caplog.records if "per return" in r.getMessage()]
    assert why in line


def test_a_large_state_is_not_kept_twice(monkeypatch, caplog):
    monkeypatch.setattr(plan_as_step, "_COPIED", {"cpu": 1.0})
    with caplog.at_level("INFO", "tensorflow"):
        assert counted(lambda state: None, 20).returns == 0
    assert "more state would be kept" in caplog.text
