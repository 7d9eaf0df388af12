"""Many steps per return and one give equal values at every call of a hook, whatever hooks do."""

import random
import re

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.runtime.programs.limits import LIMITS

ROWS = np.random.RandomState(3).randn(40, 3).astype(np.float32)


class Watching(tf.train.SessionRunHook):
    """Writes down all that it sees; may fetch, use the session, stop or fail at some steps."""

    def __init__(self, seen, tensors, behavior):
        self.seen, self.tensors, self.behavior, self.runs = seen, tensors, behavior, 0

    def begin(self):
        self.seen.append("begin")

    def after_create_session(self, session, coord):
        self.seen.append(("created", session.run(tf.train.get_global_step())))

    def before_run(self, run_context):
        self.runs += 1
        if self.behavior == "fetches now and then" and self.runs % 5:
            return None
        if self.behavior == "feeds now and then" and self.runs % 7 == 0:
            return tf.train.SessionRunArgs(self.tensors, {tf.get_collection("x")[0]: ROWS[:4]})
        return tf.train.SessionRunArgs(self.tensors)

    def after_run(self, run_context, run_values):
        self.seen.append(run_values.results)
        if self.behavior == "uses the session" and self.runs % 6 == 0:
            self.seen.append(run_context.session.run(tf.get_collection("w")[0]))
        if self.behavior == "stops" and self.runs == 17:
            run_context.request_stop()
        if self.behavior == "fails" and self.runs == 13:
            raise RuntimeError("a hook fails")
        if self.behavior == "aborts" and self.runs == 11:
            raise tf.errors.AbortedError(None, None, "the session is lost")

    def end(self, session):
        self.seen.append(("end", session.run(tf.train.get_global_step())))


class Patient(Watching):
    """One that says that it leaves the session alone."""

    def steps_until_session_use(self, step):
        return None


BEHAVIORS = ("watches", "watches", "fetches now and then", "feeds now and then", "uses the session", "stops", "fails",
             "aborts")  # fmt: skip


class Saved(tf.train.CheckpointSaverListener):
    def __init__(self, seen):
        self.seen = seen

    def before_save(self, session, global_step_value):
        self.seen.append(("saving", global_step_value, session.run(tf.get_collection("w")[0])))


def model(draw, strategy):
    rows = ROWS.copy()
    if draw["nan"] is not None:
        rows[draw["nan"]] = np.nan
    data = tf.data.Dataset.from_tensor_slices(rows).repeat(draw["repeat"]).batch(4, drop_remainder=True)
    step = tf.train.get_or_create_global_step()
    if strategy is None:
        x = data.make_one_shot_iterator().get_next()
        tf.add_to_collection("x", x)
        w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean((tf.matmul(x, w) - 1.0) ** 2) + 0.01 * tf.random_uniform([], seed=5)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, step)
        tf.add_to_collection("w", w)
        return train, loss
    with strategy.scope():
        w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())

        def step_fn(context, x):
            loss = tf.reduce_mean((tf.matmul(x, w) - 1.0) ** 2)
            context.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
            return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, step)

        def towers_fn(context, x):
            return strategy.group(strategy.call_for_each_tower(step_fn, context, x, run_concurrently=False))

        iterator = strategy.distribute_dataset(lambda: data).make_one_shot_iterator()
        context = strategy.run_steps_on_dataset(towers_fn, iterator, 2, initial_loop_values={"loss": tf.constant(0.0)})
        tf.add_to_collection("w", w)
        return context.run_op, tf.reduce_sum(strategy.unwrap(context.last_step_outputs["loss"])[0])


def run(draw, folder, strategy=None):
    """All that hooks and the loop see of a program."""
    tf.reset_default_graph()
    seen, lines = [], []
    train, loss = model(draw, strategy)
    kinds = {"patient": Patient, "watching": Watching}
    hooks = [kinds[kind](seen, [loss, tf.train.get_global_step()], behavior) for kind, behavior in draw["hooks"]]
    if draw["last"]:
        hooks.append(tf.train.StopAtStepHook(last_step=draw["last"]))
    if draw["log"]:
        hooks.append(tf.train.LoggingTensorHook(
            {"loss": loss}, every_n_iter=draw["log"], formatter=lambda v: lines.append(dict(v)) or ""))  # fmt: skip
    if draw["guard"]:
        hooks.append(tf.train.NanTensorHook(loss, fail_on_nan_loss=draw["guard"] == "fail"))
    if draw["save"]:
        hooks.append(tf.train.CheckpointSaverHook(str(folder), save_steps=draw["save"], listeners=[Saved(seen)]))
    try:
        with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(), hooks) as session:
            turn = 0
            while not session.should_stop() and turn < 60:
                turn += 1
                seen.append(session.run([train, loss])[1])
                if draw["looks"] and turn % draw["looks"] == 0:
                    seen.append(session.run(tf.get_collection("w")[0]))
    except (RuntimeError, tf.errors.OpError) as error:
        seen.append((type(error).__name__, re.sub(r"0x\w+|in step.*", "", str(error)).partition("\n")[0]))
    return seen, lines, sorted(p.name for p in folder.iterdir() if p.suffix == ".index")


def drawn(seed):
    """A random set of hooks, limits, lengths of data, bad rows."""
    rng = random.Random(seed)
    some = lambda *choices: rng.choice(choices)  # noqa: E731
    return {
        "hooks": [(some("patient", "patient", "watching"), rng.choice(BEHAVIORS)) for _ in range(rng.randrange(3))],
        "last": some(None, None, 1, 7, 30),
        "log": some(None, 1, 4, 10),
        "guard": some(None, None, "fail", "stop"),
        "save": some(None, None, 1, 5, 12),
        "nan": some(None, None, None, 30),
        "repeat": some(1, 3, 5, None),
        "looks": some(None, None, 3, 10),
    }


def check(seed, tmp_path, monkeypatch, strategy=lambda: None):
    draw = drawn(seed)
    found = []
    for name, steps in (("one", 1), ("many", None)):
        monkeypatch.setattr(LIMITS, "steps_per_return", steps)
        folder = tmp_path / f"{name}{seed}"
        folder.mkdir()
        found.append(run(draw, folder, strategy()))
    np.testing.assert_equal(*found, err_msg=f"{seed}: {draw}")


@pytest.mark.parametrize("seed", [3])
def test_one_step_per_return_and_many(seed, tmp_path, monkeypatch):
    check(seed, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_two_hundred_programs(first, tmp_path, monkeypatch):
    for seed in range(first, first + 20):
        check(seed, tmp_path, monkeypatch)


STRATEGIES = {
    "one device": lambda: tf.contrib.distribute.OneDeviceStrategy("/cpu:0"),
    "TPU": lambda: tf.contrib.distribute.TPUStrategy(
        tf.contrib.cluster_resolver.TPUClusterResolver(""), steps_per_run=2),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(5))
def test_under_strategies(strategy, seed, tmp_path, monkeypatch):
    check(seed, tmp_path, monkeypatch, STRATEGIES[strategy])


def test_counted_returns(tmp_path, monkeypatch):
    monkeypatch.setattr(LIMITS, "return_seconds", 1e9)  # how long steps take depends on the machine
    tf.reset_default_graph()
    train, loss = model({"nan": None, "repeat": None}, None)
    hooks = [
        tf.train.StopAtStepHook(last_step=301), tf.train.NanTensorHook(loss),
        tf.train.CheckpointSaverHook(str(tmp_path), save_steps=100),
        tf.train.StepCounterHook(every_n_steps=100, output_dir=str(tmp_path)),
    ]  # fmt: skip
    with tf.train.MonitoredSession(hooks=hooks) as session:
        ahead = session._tf_sess().ahead
        while not session.should_stop():
            session.run(train)
    assert ahead.served >= 300
    assert ahead.returns <= 8
    assert ahead.wasted == 0
