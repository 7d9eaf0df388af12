"""A program of an estimator that ``TF_CONFIG`` tells its task: what it trains to, and what its configuration says.

    python -m tests.hosts.several 2 2 tests.hosts.estimators CASE [slowly]

``slowly``: the first process takes a second to write a checkpoint, the others one before they look for it.
"""

import json
import os
import sys
import tempfile
import time

from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES

CASE, SLOWLY = "".join(sys.argv[1:2]), sys.argv[2:] == ["slowly"]
COUNT, INDEX = PROCESSES.count, PROCESSES.index
FIRST = "master" if CASE == "master" else "chief"
TASK = {"type": FIRST, "index": 0} if INDEX == 0 else {"type": "worker", "index": INDEX - 1}
if COUNT > 1:
    workers = [f"localhost:{2222 + i}" for i in range(COUNT - 1)]
    cluster = {FIRST: ["localhost:2221"], "worker": workers, "ps": ["localhost:2220"]}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": TASK})

import numpy as np  # noqa: E402

import towerstrat.compat.v1 as tf  # noqa: E402
from towerstrat.checkpoints import bundle_writer  # noqa: E402

STEPS, ROWS, TOWERS = 6, 8, 4
X = np.random.RandomState(0).randn(STEPS, ROWS, 3).astype(np.float32)


def input_fn():
    """This process's rows of each step; tower by tower for a strategy."""
    part = X[:, INDEX * ROWS // COUNT : (INDEX + 1) * ROWS // COUNT]
    if CASE == "strategy":
        rows = part.reshape(-1, 3)
        return tf.data.Dataset.from_tensor_slices((rows, rows.sum(1, keepdims=True))).batch(ROWS // TOWERS)
    return tf.data.Dataset.from_tensor_slices((part, part.sum(2, keepdims=True)))


def model_fn(features, labels, mode):
    w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(0.25))
    loss = tf.reduce_mean((tf.matmul(features, w) - labels) ** 2)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def save_slowly():
    write = bundle_writer.write

    def wait_and_write(*args, **kwargs):
        time.sleep(1)
        return write(*args, **kwargs)

    bundle_writer.write = wait_and_write


def main():
    if SLOWLY and INDEX == 0:
        save_slowly()
    strategy = tf.contrib.distribute.MirroredStrategy(num_gpus=TOWERS // COUNT) if CASE == "strategy" else None
    config = tf.estimator.RunConfig(
        train_distribute=strategy, save_checkpoints_steps=3, experimental_max_worker_delay_secs=0
    )
    with tempfile.TemporaryDirectory() as folder:
        estimator = tf.estimator.Estimator(model_fn, folder, config)
        if CASE == "train":
            estimator.train(input_fn, max_steps=STEPS)
        else:
            train = tf.estimator.TrainSpec(input_fn, max_steps=STEPS)
            evaluate = tf.estimator.EvalSpec(input_fn, steps=1, throttle_secs=0)
            tf.estimator.train_and_evaluate(estimator, train, evaluate)
        time.sleep(SLOWLY and INDEX > 0)
        saved = estimator.latest_checkpoint() is not None
        found = {
            "says": [config.task_type, config.task_id, config.is_chief, config.num_worker_replicas],
            "weights": estimator.get_variable_value("w").tolist() if saved else None,
            "evaluated": os.path.isdir(estimator.eval_dir()),
        }
        if PROCESSES.in_lockstep:  # The others read in the first one's folder, which it removes.
            COLLECTIVES.gather(INDEX, int)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
