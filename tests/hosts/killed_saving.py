"""A program that saves after every second step, in shards: is killed while it does, and started again.

towerstrat launch -n 4 --restarts 3 killed_saving.py FOLDER STEPS
"""

import os
import sys
from pathlib import Path

import towerstrat.compat.v1 as tf
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.training.saving.collective_save import FOLDERS

SHAPE = (2048, 1024)


def main(folder, steps):
    FOLDERS.smallest = 0
    Path(folder, f"pid-{PROCESSES.index}-{os.getpid()}").touch()
    strategy = tf.contrib.distribute.TPUStrategy(tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""), 1)
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        table = tf.get_variable(
            "table", SHAPE, initializer=tf.random_uniform_initializer(seed=1),
            aggregation=tf.VariableAggregation.MEAN,
        )  # fmt: skip
        total = tf.get_variable(
            "total", [], tf.int32, tf.zeros_initializer(), trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM,
        )  # fmt: skip

        def fn():
            changed = table.assign(table * 1.01 + tf.cast(step, tf.float32) / 7)
            return changed, total.assign_add(1)

        run = tf.group(*[strategy.unwrap(each) for each in strategy.call_for_each_tower(fn)], tf.assign_add(step, 1))
        saving = tf.train.CheckpointSaverHook(folder, save_steps=2, saver=tf.train.Saver(max_to_keep=None))
        quiet = {"save_checkpoint_secs": None, "save_summaries_steps": None}
        hooks = [tf.train.StopAtStepHook(last_step=int(steps)), saving]
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks, **quiet) as session:
            while not session.should_stop():
                session.run(run)


if __name__ == "__main__":
    main(*sys.argv[1:])
