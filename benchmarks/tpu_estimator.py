"""What a step costs in ``TPUEstimator.train``, beside the bare step loop.

    python -m benchmarks.tpu_estimator [--towers N]

One model in three programs, one after the other in one process, by turns: ``run_steps_on_dataset`` with 100 steps per
run and nothing around it; ``TPUEstimator.train`` with 100 iterations per loop and its hooks; the same with a host call
that writes two scalars for each step. Milliseconds a step on the clock: the median over the runs of all rounds.
"""

import argparse
import tempfile
import time

import numpy as np

import towerstrat.compat.v1 as tf

EVERY, RUNS, ROUNDS = 100, 8, 3
tpu = tf.contrib.tpu


def pipeline(batch):
    rows = np.random.RandomState(0).randn(4096, 256).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, rows[:, :10].argmax(1).astype(np.int32)))
    return data.shuffle(4096, seed=3).repeat().batch(batch, drop_remainder=True)


def loss_of(x, labels):
    for _ in range(3):
        x = tf.layers.dense(x, 512, tf.nn.relu)
    return tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(x, 10))


def optimizer():
    return tf.train.GradientDescentOptimizer(0.01)


def bare(towers, batch):
    """Seconds of each run of a strategy's step loop."""
    with tf.Graph().as_default():
        strategy = tf.contrib.distribute.TPUStrategy(steps_per_run=EVERY, num_cores=towers)
        with strategy.scope():
            iterator = strategy.distribute_dataset(lambda: pipeline(batch // towers)).make_initializable_iterator()

            def tower(x, labels):
                return optimizer().minimize(loss_of(x, labels), tf.train.get_or_create_global_step())

            run = strategy.run_steps_on_dataset(
                lambda context, *inputs: strategy.group(strategy.call_for_each_tower(tower, *inputs)), iterator, EVERY
            ).run_op
        with tf.Session() as session:
            session.run([iterator.initializer, tf.global_variables_initializer()])
            times = [time.perf_counter()]
            for _ in range(RUNS + 2):
                session.run(run)
                times.append(time.perf_counter())
    return np.diff(times)[2:]


def estimated(towers, batch, host_call):
    """Seconds between the runs of ``TPUEstimator.train``."""
    folder = tempfile.mkdtemp()

    def write(step, loss):
        with (
            tf.contrib.summary.create_file_writer(folder).as_default(),
            tf.contrib.summary.always_record_summaries(),
        ):
            tf.contrib.summary.scalar("mean", tf.reduce_mean(loss), step=step[0])
            tf.contrib.summary.scalar("largest", tf.reduce_max(loss), step=step[0])
            return tf.contrib.summary.all_summary_ops()

    def model_fn(features, labels, mode, params):
        loss, step = loss_of(features, labels), tf.train.get_global_step()
        train = tpu.CrossShardOptimizer(optimizer()).minimize(loss, step)
        call = (write, [step[None], loss[None]]) if host_call else None
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train, host_call=call)

    times = []

    class Clock(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            times.append(time.perf_counter())

    loop = tpu.TPUConfig(EVERY, num_shards=towers)
    config = tpu.RunConfig(model_dir=folder, tpu_config=loop, save_checkpoints_steps=10**9)
    estimator = tpu.TPUEstimator(model_fn, config=config, train_batch_size=batch)
    estimator.train(lambda params: pipeline(params["batch_size"]), steps=EVERY * (RUNS + 3), hooks=[Clock()])
    return np.diff(times)[2:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--towers", type=int, default=1)
    towers = parser.parse_args().towers
    tf.logging.set_verbosity(tf.logging.ERROR)
    programs = [bare, lambda *given: estimated(*given, False), lambda *given: estimated(*given, True)]
    print(
        "| batch | bare loop, ms a step | TPUEstimator | ratio | with a host call | ratio |\n|---|---|---|---|---|---|"
    )
    for batch in (64, 256):
        runs = [[], [], []]
        for _ in range(ROUNDS):
            for found, program in zip(runs, programs, strict=True):
                found.extend(program(towers, batch))
        loop, alone, called = (np.median(found) / EVERY * 1e3 for found in runs)
        print(
            f"| {batch} | {loop:.3f} | {alone:.3f} | {alone / loop:.3f} | {called:.3f} | {called / loop:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
