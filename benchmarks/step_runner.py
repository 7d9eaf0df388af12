"""What a step costs under a monitored session with the standard hooks, beside the bare step loop.

    python -m benchmarks.step_runner

Three programs of one model, in turns in one process: ``run_steps_on_dataset`` with 100 steps per run and nothing
around it; a ``MonitoredSession`` that runs the training operation step by step, with hooks that stop, look at the loss,
log, count and save every 100 steps; the same with one step per return. Seconds on the clock, least of five samples of
2,000 steps.
"""

import tempfile
import time

import numpy as np

import towerstrat.compat.v1 as tf
from towerstrat.graph.runtime.programs.limits import LIMITS

EVERY, RUNS = 100, 20
WIDTHS = {"a few microseconds": (8, 8), "a millisecond": (640, 64)}


def pipeline(batch):
    rows = np.random.RandomState(0).randn(4096, 64).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, rows.sum(1))).shuffle(4096, seed=3).repeat()
    return data.batch(batch, drop_remainder=True)


def training(x, y, width):
    hidden = tf.layers.dense(x, width, tf.nn.relu)
    hidden = tf.layers.dense(hidden, width, tf.nn.relu)
    loss = tf.reduce_mean((tf.squeeze(tf.layers.dense(hidden, 1), 1) - y) ** 2)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_or_create_global_step())
    return train, loss


class Bare:
    """The step loop of a strategy, run by itself."""

    def __init__(self, width, batch):
        with tf.Graph().as_default():
            strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
            with strategy.scope():
                iterator = strategy.distribute_dataset(lambda: pipeline(batch)).make_initializable_iterator()
                run = strategy.run_steps_on_dataset(
                    lambda context, *inputs: strategy.call_for_each_tower(
                        lambda x, y: training(x, y, width)[0], *inputs, run_concurrently=False),
                    iterator, EVERY,
                )  # fmt: skip
            self.fetches = [run.run_op, tf.train.get_global_step()]
            self.session = tf.Session()
            self.session.run([iterator.initializer, tf.global_variables_initializer()])

    def __call__(self):
        self.session.run(self.fetches)


class Monitored:
    """The training operation in a monitored session; ``steps``: per return, None: as many as the hooks allow."""

    def __init__(self, width, batch, steps):
        self.steps = steps
        with tf.Graph().as_default():
            x, y = pipeline(batch).make_one_shot_iterator().get_next()
            self.train, loss = training(x, y, width)
            folder = tempfile.mkdtemp()
            hooks = [
                tf.train.StopAtStepHook(last_step=10**9), tf.train.NanTensorHook(loss),
                tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=EVERY),
                tf.train.StepCounterHook(EVERY, output_dir=folder),
                tf.train.CheckpointSaverHook(folder, save_steps=EVERY * 100),
            ]  # fmt: skip
            self.session = tf.train.MonitoredSession(hooks=hooks)

    def __call__(self):
        LIMITS.steps_per_return = self.steps
        for _ in range(EVERY):
            self.session.run(self.train)


def main():
    print("| step | bare loop, us a step | with hooks | ratio | one step per return |\n|---|---|---|---|---|")
    for name, (width, batch) in WIDTHS.items():
        programs = [Bare(width, batch), Monitored(width, batch, None), Monitored(width, batch, 1)]
        least = [float("inf")] * len(programs)
        for sample in range(6):
            for i, program in enumerate(programs):
                start = time.perf_counter()
                for _ in range(RUNS):
                    program()
                if sample:
                    least[i] = min(least[i], (time.perf_counter() - start) / RUNS / EVERY * 1e6)
        bare, many, one = least
        print(f"| {name} | {bare:.1f} | {many:.1f} | {many / bare:.3f} | {one:.1f} |", flush=True)


if __name__ == "__main__":
    main()
