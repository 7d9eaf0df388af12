"""Events of a run that is killed again and again and goes on: as TensorBoard reads them, each step is there once."""

import glob
import random
import subprocess
import sys

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

PROGRAM = """
import sys
import towerstrat.compat.v1 as tf

folder, last = sys.argv[1], int(sys.argv[2])
step = tf.train.get_or_create_global_step()
data = tf.data.Dataset.range(1000).map(lambda x: tf.cast(x, tf.float32)).batch(4).repeat()
x = data.make_one_shot_iterator().get_next()
w = tf.get_variable("w", initializer=1.0)
loss = tf.reduce_mean(tf.square(w * x / 1000 - 1))
tf.summary.scalar("loss", loss)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
session = tf.train.MonitoredTrainingSession(
    checkpoint_dir=folder, hooks=[tf.train.StopAtStepHook(last_step=last)], save_summaries_steps=50,
    save_checkpoint_steps=500, save_checkpoint_secs=None, log_step_count_steps=100,
)
print("begun", flush=True)
with session:
    while not session.should_stop():
        session.run(train)
"""


def command(folder, last):
    return [sys.executable, "-c", PROGRAM, str(folder), str(last)]


def shown(folder):
    """Tag -> (step, value), after each session's start without what was recorded of its step and later ones before."""
    found = {}
    started = False
    for path in sorted(glob.glob(f"{folder}/events*")):
        for event in tf.train.summary_iterator(path):
            if event.session_log.status == tf.SessionLog.START:
                if started:
                    found = {tag: [e for e in entries if e[0] < event.step] for tag, entries in found.items()}
                started = True
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def events_size(folder):
    """Bytes of all events."""
    return sum(path.stat().st_size for path in folder.glob("events*"))


def checkpoints(folder):
    """Step -> the values of the checkpoint that was kept."""
    paths = glob.glob(f"{folder}/model.ckpt-*.index")
    readers = {path: tf.train.load_checkpoint(path.removesuffix(".index")) for path in paths}
    return {
        int(path.removesuffix(".index").rpartition("-")[2]): {
            name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()
        }
        for path, reader in readers.items()
    }


@pytest.mark.long
def test_each_step_is_there_once_whenever_the_run_is_killed(tmp_path):
    """Fifty kills; values and checkpoints are those of the run that was not killed."""
    last = 150000
    subprocess.run(command(tmp_path / "whole", last), check=True, capture_output=True)
    moments, kills = random.Random(0), 0
    while kills < 50:
        with subprocess.Popen(command(tmp_path / "killed", last), stdout=subprocess.PIPE) as run:
            run.stdout.readline()
            before, more = events_size(tmp_path / "killed"), moments.randrange(1 << 12)
            while events_size(tmp_path / "killed") < before + more:
                assert run.poll() is None, f"it ended after {kills} kills"
            run.kill()
            kills += 1
    subprocess.run(command(tmp_path / "killed", last), check=True, capture_output=True)
    assert len(glob.glob(f"{tmp_path}/killed/events*")) > 5
    found, wanted = shown(tmp_path / "killed")["loss"], dict(shown(tmp_path / "whole")["loss"])
    steps = [step for step, _ in found]
    assert steps == sorted(set(steps))
    assert steps[-1] > last - 100
    same = [(step, value) for step, value in found if step in wanted]
    assert len(same) > 3
    assert same == [(step, wanted[step]) for step, _ in same]
    kept, whole = checkpoints(tmp_path / "killed"), checkpoints(tmp_path / "whole")
    assert max(kept) == max(whole) == last
    for step in kept.keys() & whole.keys():
        np.testing.assert_equal(kept[step], whole[step])
