"""Clocks that are set back and forward while something is timed by them."""

import contextlib
import itertools
import re
from pathlib import Path
from unittest import mock

import pytest

import towerstrat.compat.v1 as tf
from tests.faults.outcome import Outcome
from tests.faults.training import Lines, Training, restored
from towerstrat.platform import coordinator
from towerstrat.training.saving import checkpoint_polling

HOUR, YEAR = 3600.0, 365 * 86400.0


class Clock(tf.train.SessionRunHook):
    """The wall clock, which goes on by ``by`` seconds with each step, and is set by jumps: step -> seconds."""

    def __init__(self, by=1.0, jumps=()):
        self.now, self.by, self.jumps, self.steps = 1.5e9, by, dict(jumps), 0

    def time(self):
        return self.now

    def more(self):
        self.steps += 1
        self.now += self.by + self.jumps.get(self.steps, 0.0)

    def after_run(self, context, values):
        self.more()

    @contextlib.contextmanager
    def running(self):
        with mock.patch("time.time", self.time):
            yield self


def saved_steps(folder):
    return sorted(int(path.stem.rpartition("-")[2]) for path in Path(folder).glob("model.ckpt-*.index"))


def save_secs(folder):
    """`save_checkpoint_secs=10`, a step a second; the clock is set back an hour, and later forward a year"""
    clock = Clock(jumps={12: -HOUR, 40: YEAR})
    with clock.running(), Training(folder, keep=0) as training:
        how = {"save_checkpoint_steps": None, "save_checkpoint_secs": 10, "save_summaries_steps": None}
        with training.monitored(hooks=[clock], **how) as session:
            for _ in range(60):
                session.run(training.more)
        assert restored(folder) == 60
    steps = saved_steps(folder)
    between = [b - a for a, b in itertools.pairwise(steps)]
    assert max(between) <= 12, steps
    assert len(steps) <= 9, steps
    return Outcome(
        f"saved at steps {', '.join(map(str, steps))}: seconds are counted on from where the clock was set back, "
        "and a jump forward saves once. 1.12 saves nothing between steps 11 and 41, and nothing at all for the "
        "hour where nothing sets the clock forward"
    )  # fmt: skip


def rates(folder):
    """hooks that log and record by seconds: `StepCounterHook`, `LoggingTensorHook`, `SummarySaverHook`"""
    clock = Clock(jumps={7: -HOUR, 11: YEAR, 12: -YEAR, 20: -HOUR, 21: -1.0})
    with clock.running(), Training(folder) as training, Lines() as said:
        counter = tf.train.StepCounterHook(every_n_steps=1, output_dir=folder)
        by_seconds = tf.train.StepCounterHook(every_n_steps=None, every_n_secs=3)
        logging = tf.train.LoggingTensorHook({"step": tf.train.get_global_step()}, every_n_secs=4)
        summaries = tf.train.SummarySaverHook(save_secs=5, output_dir=folder, summary_op=tf.summary.merge_all())
        hooks = [counter, by_seconds, logging, summaries, clock]
        how = {"save_checkpoint_steps": None, "save_summaries_steps": None, "log_step_count_steps": None}
        with training.monitored(hooks=hooks, **how) as session:
            for _ in range(30):
                session.run(training.more)
    found = [float(text) for text in re.findall(r"global_step/sec: (\S+)", said.text)]
    assert len(found) > 30
    assert min(found) >= 0
    seconds = [float(text) for text in re.findall(r"\((\S+) sec\)", said.text)]
    assert len(seconds) >= 5
    assert min(seconds) >= 0
    (path,) = Path(folder).glob("events*")
    recorded = [v for event in tf.train.summary_iterator(str(path)) for v in event.summary.value]
    assert min(v.simple_value for v in recorded if v.tag == "global_step/sec") >= 0
    assert sum(v.tag == "first" for v in recorded) >= 6
    return Outcome(
        "no rate and no time is below 0, lines and summaries come as often as before; where no time has passed the "
        "rate is `inf`, as in the original's `Supervisor`. 1.12 logs negative rates"
    )  # fmt: skip


def kept_for_good(folder):
    """`keep_checkpoint_every_n_hours=1`, one save in ten minutes; the clock is set forward a year and back again"""
    clock = Clock(by=600.0, jumps={20: YEAR, 40: -YEAR})
    with clock.running(), Training(folder) as training:
        training.saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1)
        for _ in range(72):
            training.step()
            training.save()
            clock.more()
    kept = saved_steps(folder)
    assert 11 <= len(kept) <= 15, kept
    assert max(b - a for a, b in itertools.pairwise(kept)) <= 13, kept
    return Outcome(
        f"{len(kept)} checkpoints of 12 hours stay. 1.12 keeps 24 of these, each one for as long as the clock is "
        "ahead, and none afterwards"
    )


def kept_by_manager(folder):
    """the same with `CheckpointManager`"""
    clock = Clock(by=600.0, jumps={20: YEAR, 40: -YEAR})
    with clock.running(), tf.Graph().as_default(), tf.Session() as session:
        checkpoint = tf.train.Checkpoint(value=tf.get_variable("value", initializer=0.0))
        session.run(tf.global_variables_initializer())
        manager = tf.contrib.checkpoint.CheckpointManager(checkpoint, folder, 1, keep_checkpoint_every_n_hours=1)
        for _ in range(72):
            manager.save()
            clock.more()
    kept = len(list(Path(folder).glob("*.index")))
    assert 10 <= kept <= 15, kept
    return Outcome(f"{kept} checkpoints of 12 hours stay")


def timeouts(folder):
    """timeouts of queues and of waiting for checkpoints, while the clock is set back a second at each look"""
    clock = Clock(by=-1.0)

    def look():
        clock.more()
        return clock.now

    with mock.patch("time.time", look), tf.Graph().as_default(), tf.Session() as session:
        taken = tf.FIFOQueue(1, tf.float32).dequeue()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=20))
        assert list(tf.contrib.training.checkpoints_iterator(folder, timeout=0)) == []
        waiting = tf.train.SessionManager(ready_op=tf.constant(["x"]), recovery_wait_secs=0.001)
        with pytest.raises(tf.errors.DeadlineExceededError):
            waiting.wait_for_session("", max_wait_secs=0.02)
    return Outcome(
        "they end when they must, whatever the wall clock says. 1.12's waiting for checkpoints and sessions does "
        "not end"
    )


class _Coordinator(tf.train.Coordinator):
    """Says to stop after so many waits, during which its clock goes on."""

    def __init__(self, clock, count):
        super().__init__()
        self.clock, self.left = clock, count

    def wait_for_stop(self, timeout=None):
        self.clock.now += timeout
        self.left -= 1
        return self.left < 0


def services(folder):
    """threads of a `Supervisor` that act once in so many seconds, of which one took an hour, as on a disk that hung"""
    clock = Clock()
    coord = _Coordinator(clock, 12)
    calls = []

    def acts():
        calls.append(clock.now)
        clock.now += HOUR if len(calls) == 3 else 1.0

    with mock.patch.object(coordinator.time, "monotonic", clock.time):
        thread = coordinator.LooperThread(coord, 10.0, acts)
        thread.run()
    between = [b - a for a, b in itertools.pairwise(calls)]
    assert between == [10.0, 10.0, HOUR, *[10.0] * 8], between
    return Outcome(
        "what was missed is not made up for: it acts at once, then as before. 1.12 acts 399 times without a pause"
    )


def event_names(folder):
    """event files, one after another, while the clock is set back"""
    clock = Clock(by=-HOUR)
    with clock.running():
        for step in range(3):
            with tf.summary.FileWriter(folder) as writer:
                writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=step)]), step)
            clock.more()
    paths = sorted(Path(folder).iterdir())
    steps = [e.step for path in paths for e in tf.train.summary_iterator(str(path)) if e.summary.value]
    assert steps == [0, 1, 2]
    return Outcome("names go on in order, so that a TensorBoard that goes by them comes to the later file")


def polling(folder):
    """`checkpoints_iterator(min_interval_secs=60)` while the clock is set back an hour"""
    clock, slept = Clock(jumps={1: -HOUR}), []
    with Training(folder) as training:
        training.save()
    with clock.running(), mock.patch.object(checkpoint_polling.time, "sleep", slept.append):
        found = checkpoint_polling.checkpoints_iterator(folder, min_interval_secs=60, timeout=0)
        next(found)
        clock.more()
        assert list(found) == []
    assert 0 <= slept[0] <= 60
    return Outcome("it waits no longer than the interval; 1.12 waits for an hour more")
