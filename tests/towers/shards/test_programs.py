"""Programs of the time: starting the system, a rewritten computation, training loops of layers, metrics, averages."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat import importer

ROWS = np.random.RandomState(0).randn(8, 6).astype(np.float32)
LABELS = ROWS.sum(1, keepdims=True) ** 2

QUICKSTART = """
import tensorflow as tf
from tensorflow.contrib import tpu

def axy_computation(a, x, y):
    return a * x + y

inputs = [3.0, tf.ones([3, 3], tf.float32), tf.ones([3, 3], tf.float32)]
tpu_computation = tpu.rewrite(axy_computation, inputs)
batches = tpu.batch_parallel(lambda x: axy_computation(2.0, x, 1.0), [tf.ones([4, 3])], num_shards=2)

with tf.Session("grpc://10.240.1.2:8470") as session:
    session.run(tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    output, = session.run(tpu_computation)
    both, = session.run(batches)
    session.run(tpu.shutdown_system())
"""


def test_a_quickstart():
    found = {}
    with importer.names_installed():
        exec(QUICKSTART, found)
    np.testing.assert_array_equal(found["output"], np.full([3, 3], 4.0))
    np.testing.assert_array_equal(found["both"], np.full([4, 3], 3.0))


def loss_of(rows, labels):
    hidden = tf.layers.dense(rows, 5, tf.nn.tanh, name="hidden", kernel_initializer=tf.glorot_uniform_initializer(1))
    hidden = tf.reshape(hidden, [-1, 5, 1])
    cell = tf.nn.rnn_cell.BasicRNNCell(3, name="cell")
    outputs, _ = tf.nn.dynamic_rnn(cell, hidden, dtype=tf.float32)
    output = tf.layers.dense(outputs[:, -1], 1, name="output", kernel_initializer=tf.glorot_uniform_initializer(2))
    return tf.losses.mean_squared_error(labels, output)


def clipped(optimizer, loss, step):
    gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    found, _ = tf.clip_by_global_norm(gradients, 1e6)
    return optimizer.apply_gradients(zip(found, variables, strict=True), step)


@pytest.mark.long
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_layers_train_in_a_loop_as_on_one_device(shards):
    """Variables are made in the loop's body; ten steps in two runs; what is fed is divided."""

    def trained(sharded):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(3)
            step, rate = tf.train.get_or_create_global_step(), tf.placeholder(tf.float32, [])
            rows, labels = tf.placeholder(tf.float32, ROWS.shape), tf.placeholder(tf.float32, LABELS.shape)
            plain = tf.train.AdamOptimizer(rate)

            def body(loss, rows, labels):
                found = loss_of(rows, labels)
                optimizer = tf.contrib.tpu.CrossShardOptimizer(plain) if sharded else plain
                return found, rows, labels, clipped(optimizer, found, step)

            def computation(rows, labels):
                return tf.contrib.tpu.repeat(5, body, [0.0, rows, labels])[0]

            train = tf.contrib.tpu.shard(computation, [rows, labels], shards) if sharded else computation(rows, labels)
            session.run(tf.global_variables_initializer())
            losses = [np.mean(session.run(train, {rate: 0.1, rows: ROWS, labels: LABELS})) for _ in range(2)]
            assert not any(variable.cell.is_varying for variable in tf.global_variables())
            return losses, session.run(tf.trainable_variables()), session.run(step)

    (losses, found, step), (same, wanted, _) = trained(True), trained(False)
    assert step == 10
    np.testing.assert_allclose(losses, same, rtol=1e-4)
    for own, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-3, atol=1e-5)


@pytest.mark.long
def test_statistics_are_each_shards_own(tmp_path):
    """Batch normalization, metrics and averages of one shard's values; the first shard's are saved and restored."""

    def computation(rows):
        normal = tf.layers.batch_normalization(rows, training=True, momentum=0.0)
        mean, update = tf.metrics.mean(rows)
        average = tf.train.ExponentialMovingAverage(0.5)
        shown = tf.reduce_mean(rows)
        with tf.control_dependencies([*tf.get_collection(tf.GraphKeys.UPDATE_OPS), update, average.apply([shown])]):
            return tf.identity(normal), tf.identity(mean), average.average(shown) + 0.0

    outputs = tf.contrib.tpu.shard(computation, [ROWS], 2)
    moving = next(v for v in tf.global_variables() if "moving_mean" in v.op.name)
    parts = np.stack(np.split(ROWS, 2))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        normal, mean, average = session.run(outputs)
        spread = np.sqrt(parts.var(1, keepdims=True) + 1e-3)
        np.testing.assert_allclose(
            normal, ((parts - parts.mean(1, keepdims=True)) / spread).reshape(8, 6), rtol=1e-3, atol=1e-5
        )
        np.testing.assert_allclose(mean, parts.mean((1, 2)), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(average, parts.mean((1, 2)) * 0.5, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(session.run(moving), parts[0].mean(0), rtol=1e-4, atol=1e-6)
        path = saver.save(session, str(tmp_path / "model"))
        np.testing.assert_allclose(tf.train.load_variable(path, moving.op.name), parts[0].mean(0), rtol=1e-4, atol=1e-6)
        session.run(moving.assign(np.zeros(6)))
        saver.restore(session, path)
        np.testing.assert_allclose(session.run(moving), parts[0].mean(0), rtol=1e-4, atol=1e-6)


def test_shards_in_a_monitored_session(tmp_path):
    """What is inside and has one value can be fetched; sessions that run ahead of their caller run such steps too."""
    step = tf.train.get_or_create_global_step()
    inside = []

    def computation(rows):
        inside.append(tf.contrib.tpu.cross_replica_sum(tf.reduce_sum(rows)))
        return tf.reduce_sum(rows), tf.group(step.assign_add(1))

    rows = tf.data.Dataset.from_tensor_slices(ROWS).repeat().batch(4).make_one_shot_iterator().get_next()
    sums = tf.contrib.tpu.shard(computation, [rows], 2)
    hooks = [tf.train.StopAtStepHook(6)]
    found = []
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=hooks) as session:
        while not session.should_stop():
            found.append(session.run([sums[0], inside[0]]))
    wanted = ROWS.reshape(2, 2, -1).sum(2)
    for i, (own, whole) in enumerate(found):
        np.testing.assert_allclose(own, wanted[i % 2], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(whole, wanted[i % 2].sum(), rtol=1e-5, atol=1e-6)
    assert len(found) == 6
