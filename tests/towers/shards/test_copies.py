"""Variables of shards: one value, or a copy on each shard."""

import numpy as np

import towerstrat.compat.v1 as tf
from towerstrat.graph.ops.collectives.all_reduce import position

tpu = tf.contrib.tpu


def test_a_saver_leaves_a_variable_that_shards_agree_on_as_it_is(tmp_path):
    """Restoring writes whole values: one variable with copies makes none of the others."""

    def computation(x):
        agreed = tf.get_variable("agreed", [], initializer=tf.zeros_initializer())
        own = tf.get_variable("own", [], initializer=tf.zeros_initializer())
        number = tf.to_float(position(tf.get_default_graph().axis))
        with tf.control_dependencies([agreed.assign_add(1.0), own.assign(number + tf.reduce_sum(x))]):
            return tf.identity(x)

    outputs = tpu.shard(computation, [tf.zeros([2])[:, None]], num_shards=2)
    variables = tf.global_variables()
    saver = tf.train.Saver(variables)
    assert [v.cell.is_varying for v in variables] == [False, True]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(outputs)
        path = saver.save(session, str(tmp_path / "saved"))
        session.run(outputs)
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(variables), [1.0, 0.0])
        session.run(outputs)
        np.testing.assert_array_equal(session.run(variables), [2.0, 0.0])
