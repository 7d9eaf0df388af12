"""A program of strategies over all processes: what each trains to, and what it says of its towers, as JSON."""

import json
import os
import tempfile

import numpy as np

import towerstrat.compat.v1 as tf
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES

TOWERS = 4
EACH = TOWERS // PROCESSES.count
WORKERS = {"worker": [f"localhost:{2222 + i}" for i in range(PROCESSES.count)]}
LIB = tf.contrib.distribute


def configured(strategy, cluster=None):
    strategy.configure(cluster_spec=cluster or WORKERS, task_type="worker", task_id=PROCESSES.index)
    return strategy


def of_environment():
    os.environ["TF_CONFIG"] = json.dumps({"cluster": WORKERS, "task": {"type": "worker", "index": PROCESSES.index}})
    try:
        return tf.distribute.experimental.MultiWorkerMirroredStrategy()
    finally:
        del os.environ["TF_CONFIG"]


STRATEGIES = {
    "mirrored": LIB.MirroredStrategy,
    "named": lambda: LIB.MirroredStrategy([f"/cpu:{i}" for i in range(EACH)]),
    "mirrored in a cluster": lambda: configured(LIB.MirroredStrategy(num_gpus_per_worker=EACH)),
    "collective": lambda: configured(LIB.CollectiveAllReduceStrategy(EACH)),
    "parameter servers": lambda: configured(LIB.ParameterServerStrategy(EACH), WORKERS | {"ps": ["localhost:1"]}),
    "of TF_CONFIG": of_environment,
}


def trained(strategy):
    """The weights after some steps of a monitored session, which saves; and the last checkpoint's."""
    draws = np.random.RandomState(0).randn(6 * TOWERS * 2, 3).astype(np.float32)
    own = COLLECTIVES.broadcast(tempfile.mkdtemp())
    with tf.Graph().as_default(), strategy.scope():
        w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(0.25))
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        data = tf.constant(draws.reshape(6, TOWERS, 2, 3))

        def tower(number):
            x = data[step, number]
            loss = tf.reduce_mean((tf.matmul(x, w) - 1.0) ** 2)
            with tf.control_dependencies([optimizer.minimize(loss, step)]):
                return tf.identity(loss)

        losses = strategy.call_for_each_tower(tower, strategy.worker_device_index)
        loss = strategy.reduce(tf.VariableAggregation.MEAN, losses, "/cpu:0")
        is_chief = PROCESSES.index == 0
        hooks = [tf.train.StopAtStepHook(num_steps=6)]
        with tf.train.MonitoredTrainingSession(
            is_chief=is_chief, checkpoint_dir=own, hooks=hooks, save_checkpoint_steps=3, save_summaries_steps=2
        ) as session:
            while not session.should_stop():
                last = session.run(loss)
        saved = tf.train.latest_checkpoint(own)
        weights = tf.train.load_checkpoint(saved).get_tensor("w").tolist()
    return float(last), weights


def main():
    found = {}
    for name, make in STRATEGIES.items():
        strategy = make()
        view = strategy.extended if name == "of TF_CONFIG" else strategy
        found[name] = {"devices": list(view.worker_devices)}
        if name != "of TF_CONFIG":
            found[name]["trained"] = trained(strategy)
            found[name]["says"] = [strategy.num_towers, strategy.between_graph, strategy.should_init]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
