"""Kills a program with an Estimator at random moments, starts it again, and compares it with an undisturbed run.

    python -m tests.compat.estimator.killing FOLDER [--tpu] [--kills=50] [--steps=200] [--seconds=500]

It trains, trains on, and evaluates; in every other chain of lives on two towers. With --tpu it has a TPUEstimator with
a host call. What was done is kept in FOLDER, and the same command goes on with it. The last line says how many kills
there were.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import jax
import numpy as np

import towerstrat.compat.v1 as tf
from tests.training.summaries.test_restarts import shown

KILLS_OF_A_CHAIN = 10


def model_fn(features, labels, mode, params):
    """Dropout and, on one tower, batch normalization, so that random numbers and statistics matter.

    Statistics of several towers are saved as their mean, which rounds.
    """
    training = mode == tf.estimator.ModeKeys.TRAIN
    hidden = tf.layers.dense(tf.to_float(features), 4, name="hidden")
    if params["towers"] == 1:
        hidden = tf.layers.batch_normalization(hidden, training=training)
    hidden = tf.layers.dropout(hidden, 0.5, training=training)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1, name="out")[:, 0] - tf.to_float(labels)))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train_op = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def rows(training):
    def input_fn():
        data = tf.data.Dataset.range(64).map(lambda i: (tf.stack([i % 7, i % 5]), i % 3))
        if training:
            data = data.shuffle(20, seed=3).repeat()
        return data.batch(4, drop_remainder=True)

    return input_fn


def program(folder, steps, towers, started=lambda: None):
    """An Estimator's weights, results and checkpoints, as ``digest`` sums them up."""
    strategy = tf.contrib.distribute.TPUStrategy(None, steps_per_run=3) if towers > 1 else None
    config = tf.estimator.RunConfig(
        tf_random_seed=5, save_checkpoints_steps=6, save_summary_steps=4, train_distribute=strategy
    )

    class Started(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            started()

    estimator = tf.estimator.Estimator(model_fn, folder, config, {"towers": towers})
    return digest(estimator, rows, steps, [Started()])


def tpu_program(folder, steps, towers, started=lambda: None):
    """As ``program``, with a ``TPUEstimator`` whose input are tensors on one tower, and a host call."""
    tpu = tf.contrib.tpu
    mode = tpu.InputPipelineConfig.PER_HOST_V2 if towers > 1 else tpu.InputPipelineConfig.PER_HOST_V1
    loop = tpu.TPUConfig(3, num_shards=towers, per_host_input_for_training=mode)
    config = tpu.RunConfig(tf_random_seed=5, save_checkpoints_steps=6, save_summary_steps=4, tpu_config=loop)

    def tpu_model_fn(features, labels, mode, params):
        training = mode == tf.estimator.ModeKeys.TRAIN
        hidden = tf.layers.dense(tf.to_float(features), 4, name="hidden")
        hidden = tf.layers.batch_normalization(hidden, training=training)
        hidden = tf.layers.dropout(hidden, 0.5, training=training)
        found = tf.layers.dense(hidden, 1, name="out")[:, 0]
        loss = tf.reduce_mean(tf.square(found - tf.to_float(labels)))
        if not training:
            metrics = (lambda found: {"found": tf.metrics.mean(found)}, [found])
            return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)
        step = tf.train.get_global_step()
        host_call = (write, [step[None], loss[None]])
        optimizer = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.01))
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = optimizer.minimize(loss, step)
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=host_call)

    def write(step, loss):
        writer = tf.contrib.summary.create_file_writer(f"{folder}/each")
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            tf.contrib.summary.scalar("each", tf.reduce_mean(loss), step=step[0])
            return tf.contrib.summary.all_summary_ops()

    def reading(training):
        def input_fn(params):
            data = rows(training)()
            return data.make_one_shot_iterator().get_next() if towers == 1 else data

        return input_fn

    class Started(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            started()

    estimator = tpu.TPUEstimator(
        tpu_model_fn, folder, config, train_batch_size=4 * towers, eval_batch_size=4 * towers
    )  # fmt: skip
    return digest(estimator, reading, steps, [Started()])


def digest(estimator, rows, steps, hooks):
    """Trains to half of the steps, then to the end, and evaluates; a digest of all values."""
    for end in (steps // 2, steps):
        estimator.train(rows(True), max_steps=end, hooks=hooks)
    results = [value for _, value in sorted(estimator.evaluate(rows(False)).items())]
    weights = [estimator.get_variable_value(name) for name in estimator.get_variable_names()]
    latest = os.path.basename(estimator.latest_checkpoint())
    return hashlib.sha256(b"".join(np.asarray(value).tobytes() for value in (*results, *weights, latest))).hexdigest()


def life(program, folder, steps, towers, seconds=None):
    """Runs a program in a process of its own; the digest it ends with, None where it was killed.

    Args:
      seconds: after its first step it is killed so much later.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        jax.config.update("jax_num_cpu_devices", towers)
        # The undisturbed run fills it: later ones begin sooner.
        jax.config.update("jax_compilation_cache_dir", str(folder.parent / "programs"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        found = program(str(folder), steps, towers, lambda: os.write(write, b"."))
        os.write(write, f"\n{found}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb", buffering=0) as output:
        said = output.read(1)
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        said += output.read()
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return said.rpartition(b"\n")[2].decode() if status == 0 else None


def chain(program, folder, number, kills, steps, until):
    """Goes on with a chain of lives; how many kills it has had, and the digest at its end, None where time was up."""
    kept = folder / f"chain{number}.json"
    done = json.loads(kept.read_text()) if kept.exists() else {"kills": 0, "digest": None}
    chance = random.Random(f"{number} {done['kills']}")
    while done["digest"] is None and time.time() < until:
        last = done["kills"] == kills
        place = folder / f"chain{number}"
        done["digest"] = life(program, place, steps, 1 + number % 2, None if last else chance.uniform(0, 0.5))
        done["kills"] += not last
        kept.write_text(json.dumps(done))
    return done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    for name, default in (("kills", 50), ("steps", 200), ("seconds", 500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--tpu", action="store_true")
    given = parser.parse_args()
    made = tpu_program if given.tpu else program
    given.folder.mkdir(parents=True, exist_ok=True)
    until, total = time.time() + given.seconds, 0
    for number in range(max(2, given.kills // KILLS_OF_A_CHAIN)):
        kept = given.folder / f"undisturbed{number % 2}.json"
        if not kept.exists():
            place = given.folder / "undisturbed"
            kept.write_text(json.dumps(life(made, place, given.steps, 1 + number % 2)))
            shutil.rmtree(place)
        done = chain(made, given.folder, number, KILLS_OF_A_CHAIN, given.steps, until)
        total += done["kills"]
        if done["digest"] is not None:
            assert done["digest"] == json.loads(kept.read_text()), f"chain {number} came to something else: {done}"
            steps = [step for step, _ in shown(given.folder / f"chain{number}")["loss"]]
            assert steps == sorted(set(steps)), f"chain {number} has summaries of a step twice: {steps}"
            each = {step for step, _ in shown(given.folder / f"chain{number}" / "each").get("each", ())}
            assert not given.tpu or each == set(range(given.steps)), f"chain {number}: host calls of steps are missing"
            print(f"chain {number}: {done['kills']} kills, equal bit for bit, each step once in its events", flush=True)
    print(f"{total} kills")


if __name__ == "__main__":
    main()
