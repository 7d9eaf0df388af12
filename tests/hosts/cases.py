"""What several processes do together: as a module it prints numbers, which one process has too."""

import json
import sys
import tempfile

import numpy as np

import towerstrat.compat.v1 as tf
from tests.towers.common import batches, tpu
from towerstrat.graph.eager import mode
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.training.saving.collective_save import FOLDERS

ROWS = np.linspace(-1, 1, 48 * 3).reshape(48, 3).astype(np.float32)


def listed(value):
    return np.asarray(value).tolist()


def _values(towers):
    """Values of towers: reduced, unwrapped, fed, of the host, from a function of Python."""
    strategy = tpu(towers)
    x = tf.placeholder(tf.float32, [2])

    def fn(x):
        number = tf.cast(tf.contrib.distribute.get_tower_context().tower_id, tf.float32)
        return x * (number + 1), tf.random_uniform([2], seed=3)

    with strategy.scope(), tf.Session() as sess:
        own, drawn = strategy.call_for_each_tower(fn, x)
        total = strategy.reduce(tf.VariableAggregation.SUM, own, "/cpu:0")
        fetches = [
            total,
            strategy.unwrap(own),
            strategy.unwrap(drawn),
            tf.py_func(lambda v: v + 1, [total], tf.float32),
        ]
        return [listed(v) for v in sess.run(fetches, {x: [1.0, 2.0]})]


def _variables(towers):
    """Mirrored and tower-local variables: written, read across towers, loaded, saved and restored."""
    strategy = tpu(towers)
    with strategy.scope(), tf.Session() as sess:
        mirrored = tf.get_variable(
            "mirrored", [2], initializer=tf.ones_initializer(), aggregation=tf.VariableAggregation.MEAN
        )
        local = tf.get_variable(
            "local", [], tf.int32, tf.zeros_initializer(), trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM,
        )  # fmt: skip

        def fn():
            number = tf.contrib.distribute.get_tower_context().tower_id
            return mirrored.assign_add([1.0, 2.0]), local.assign_add(tf.cast(number, tf.int32) + 1)

        updates = strategy.call_for_each_tower(fn)
        sess.run(tf.global_variables_initializer())
        found = [sess.run(strategy.unwrap(u)) for u in updates]
        found += [sess.run(mirrored), sess.run(strategy.read_var(local)), sess.run(local)]
        saver = tf.train.Saver()
        FOLDERS.smallest = 0  # each process writes a part
        path = saver.save(sess, COLLECTIVES.broadcast(tempfile.mkdtemp()) + "/model", global_step=7)
        mirrored.load([8.0, 9.0], sess)
        found.append(sess.run(mirrored))
        saver.restore(sess, path)
        return [listed(v) for v in (*found, sess.run(mirrored), sess.run(local))]


def _step_loop(towers):
    """Training by a step loop over a dataset, with batch normalization, dropout and momentum."""
    strategy = tpu(towers, 5)
    with strategy.scope(), tf.Session() as sess:
        data = strategy.distribute_dataset(lambda: batches(ROWS, batch=4))
        iterator = data.make_initializable_iterator()

        def step(ctx, x):
            hidden = tf.layers.batch_normalization(tf.layers.dense(x, 4, name="hidden"), training=True)
            loss = tf.reduce_mean(tf.square(tf.layers.dense(tf.nn.dropout(hidden, 0.8), 1, name="out")))
            op = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            ctx.set_last_step_output("loss", loss, aggregation=tf.VariableAggregation.MEAN)
            return op

        def steps(ctx, x):
            return tf.group(strategy.unwrap(strategy.call_for_each_tower(step, ctx, x)))

        ran = strategy.run_steps_on_dataset(steps, iterator, 5)
        sess.run([iterator.initializer, tf.global_variables_initializer()])
        losses = [sess.run([ran.run_op, ran.last_step_outputs["loss"]])[1] for _ in range(2)]
        return [*map(listed, losses), listed(sess.run(tf.trainable_variables()[0]))]


def _eagerly(towers):
    """``tf.distribute`` eagerly and in functions, over a distributed dataset with an uneven last batch."""
    strategy = tf.distribute.experimental.TPUStrategy(tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""))
    assert strategy.num_replicas_in_sync == towers
    with strategy.scope():
        weights = tf.Variable(np.ones([3, 1], np.float32))
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(ROWS).batch(20))

    @tf.function
    def step(x):
        def fn(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.matmul(x, weights) ** 2) / 20
            weights.assign_sub(0.1 * tape.gradient(loss, weights))
            return loss

        return strategy.reduce("SUM", strategy.run(fn, args=(x,)), axis=None)

    losses = [listed(step(x)) for x in data]
    parts = strategy.run(tf.function(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group))
    return [*losses, listed(weights.numpy()), [int(p) for p in strategy.experimental_local_results(parts)]]


GRAPHS = {"values": _values, "variables": _variables, "step loop": _step_loop}


def numbers(towers):
    """All of it, by name, on so many towers: those that there are."""
    found = {}
    for name, case in GRAPHS.items():
        tf.reset_default_graph()
        tf.set_random_seed(5)
        found[name] = case(towers)
    tf.reset_default_graph()
    with mode.eager_mode():
        found["eagerly"] = _eagerly(towers)
    return found


if __name__ == "__main__":
    print(json.dumps(numbers(int(sys.argv[1]))))
