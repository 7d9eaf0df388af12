"""What a person sees of a run."""

import io

import pytest

from tests.compat.running import towerstrat
from towerstrat.platform.accounts import COMPILATION, INPUT, RUNNING, ActivityTimers, summary
from towerstrat.platform.progress import Above, Display


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def shown(terminal, steps, last=100, seconds=1.0):
    """What a stream takes where each step lasts so long."""
    stream, now = Stream(terminal), [0.0]
    display = Display(stream, clock=lambda: now[0])
    display.begin("step")
    for step in range(1, steps + 1):
        now[0] += seconds
        display.steps(step, last, 0.5 / step, 32)
    return stream, display


def test_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    stream, display = shown(True, 50)
    assert stream.getvalue().endswith(
        "\r\x1b[Kstep 50 of 100  [==========          ]  loss 0.01  1 steps/s  32 examples/s  0:50 left"
    )
    display.activity(COMPILATION)
    assert stream.getvalue().endswith("left  compiling ...")
    Above(stream, display).write("a line\n")
    assert stream.getvalue().endswith("\r\x1b[Ka line\n")


def test_the_bar_is_drawn_ten_times_a_second_at_most():
    stream, _ = shown(True, 1000, last=None, seconds=0.001)
    assert 8 <= stream.getvalue().count("\r") <= 12


def test_lines_elsewhere():
    stream, _ = shown(False, 100)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "towerstrat: step 11 of 100  loss 0.04545  1 steps/s  32 examples/s  1:29 left"
    assert len(lines) == 4
    assert lines[-1].startswith("towerstrat: step 100 of 100")
    assert shown(False, 5)[0].getvalue() == ""


def test_time_counts_for_the_innermost_activity(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    accounts = ActivityTimers()
    with accounts.timed(RUNNING):
        now[0] += 100.0  # nobody counts yet
    accounts.begin()
    with accounts.timed(RUNNING):
        now[0] += 2.0
        with accounts.timed(INPUT):
            now[0] += 0.5
        now[0] += 1.0
    now[0] += 4.0
    assert dict(accounts.seconds) == {RUNNING: 3.0, INPUT: 0.5}
    assert summary(accounts) is None
    accounts.steps = 7
    assert summary(accounts) == (
        "7 steps in 7.5 s: input 0.5 s, device 3.0 s, compilation 0.0 s, saving 0.0 s, the program itself 4.0 s"
    )


@pytest.mark.parametrize("quiet", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_program_is_told_of(quiet, tmp_path):
    path = tmp_path / "program.py"
    path.write_text("""
import numpy as np, tensorflow as tf
x = tf.data.Dataset.from_tensor_slices(np.ones([8, 2], np.float32)).repeat().make_one_shot_iterator().get_next()
w = tf.get_variable('w', [2])
step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w * x), step)
with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=20)]) as session:
    while not session.should_stop():
        session.run(train)
""")
    status, _, errors = towerstrat("run", *(["--quiet"] if quiet else []), str(path))
    assert status == 0
    assert ("20 steps in" in errors) is not quiet


def test_a_run_that_is_stopped_ends_at_the_step_that_it_came_to(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    stream, display = shown(True, 5, last=20, seconds=0.01)
    display.end()
    assert stream.getvalue().endswith("\r\x1b[Kstep 5  loss 0.1  stopped before 20\n")
