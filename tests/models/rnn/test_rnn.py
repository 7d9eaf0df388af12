"""Recurrent networks eagerly, in functions, on towers; dropout, errors, and the loop that is compiled."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden.rnn_cases import BATCH, DEPTH, TIME, numbers
from tests.spread import spread
from tests.towers.common import batches, tpu
from towerstrat.graph.eager.mode import eager_mode

rnn_cell = tf.nn.rnn_cell
LENGTHS = [4, 1, 2]
CELLS = {
    "lstm": lambda: rnn_cell.LSTMCell(3, initializer=tf.constant_initializer(0.1)),
    "gru": lambda: rnn_cell.GRUCell(3, kernel_initializer=tf.constant_initializer(0.1)),
    "stack": lambda: rnn_cell.MultiRNNCell([CELLS["lstm"](), rnn_cell.ResidualWrapper(CELLS["gru"]())]),
}


def in_graph(cell):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(numbers(BATCH, TIME, DEPTH))
        output, state = tf.nn.dynamic_rnn(CELLS[cell](), x, sequence_length=LENGTHS, dtype=tf.float32)
        gradient = tf.gradients(tf.reduce_sum(output**2), x)[0]
        sess.run(tf.global_variables_initializer())
        return sess.run([output, state, gradient])


@pytest.mark.long
@spread("cell", CELLS, every=3)
def test_eagerly_and_in_a_function_as_in_a_graph(cell):
    output, state, gradient = in_graph(cell)
    with eager_mode():
        made = CELLS[cell]()
        x = tf.constant(numbers(BATCH, TIME, DEPTH))

        def run(x):
            return tf.nn.dynamic_rnn(made, x, sequence_length=LENGTHS, dtype=tf.float32)

        for function in (run, tf.function(run)):
            with tf.GradientTape() as tape:
                tape.watch(x)
                found, last = function(x)
                loss = tf.reduce_sum(found**2)
            np.testing.assert_allclose(found, output, rtol=1e-5, atol=1e-7)
            for one, two in zip(tf.nest.flatten(last), tf.nest.flatten(state), strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(tape.gradient(loss, x), gradient, rtol=1e-5, atol=1e-7)
        assert len(made.trainable_variables) == {"lstm": 2, "gru": 4, "stack": 6}[cell]


@spread("towers", [2, 1], every=2)
def test_training_on_towers_is_training_on_one_device(towers):
    """Two steps on batches that towers share move the variables as the mean gradients of the whole batches do."""
    value = numbers(4, TIME, DEPTH)

    def descend(x, scale=1.0):
        lengths = tf.fill([tf.shape(x)[0]], 3)
        output, _ = tf.nn.dynamic_rnn(CELLS["stack"](), x, sequence_length=lengths, dtype=tf.float32)
        loss = scale * tf.reduce_mean(output**2)
        rule = tf.train.GradientDescentOptimizer(0.5)
        return rule.apply_gradients(zip(tf.gradients(loss, tf.trainable_variables()), tf.trainable_variables(),
                                        strict=True))  # fmt: skip

    with tf.Graph().as_default(), tf.Session() as sess:
        train = descend(tf.constant(value), scale=towers)
        sess.run(tf.global_variables_initializer())
        for _ in range(2):
            sess.run(train)
        wanted = sess.run(tf.trainable_variables())
    with tf.Graph().as_default(), tf.Session() as sess:
        strategy = tpu(towers, 2)
        with strategy.scope():
            data = strategy.distribute_dataset(lambda: batches(value, batch=4 // towers))
            context = strategy.run_steps_on_dataset(
                lambda _, x: strategy.group(strategy.call_for_each_tower(descend, x)),
                data.make_one_shot_iterator(),
                iterations=2,
            )
        sess.run(tf.global_variables_initializer())
        sess.run(context.run_op)
        found = sess.run(tf.trainable_variables())
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variational", [False, True])
def test_dropout_keeps_its_share_and_the_memory(variational):
    """Of ones that pass through, each is 0 or 1 / keep_prob; variational flags are those of all steps and rows."""

    class Pass(rnn_cell.RNNCell):
        state_size = rnn_cell.LSTMStateTuple(50, 50)
        output_size = 50

        def call(self, inputs, state):
            return inputs, rnn_cell.LSTMStateTuple(state.c + 1.0, inputs)

    cell = rnn_cell.DropoutWrapper(
        Pass(), output_keep_prob=0.5, state_keep_prob=0.8, variational_recurrent=variational, dtype=tf.float32, seed=1
    )
    output, state = tf.nn.dynamic_rnn(cell, tf.ones([8, 10, 50]), dtype=tf.float32)
    with tf.Session() as sess:
        output, state = sess.run([output, state])
    assert set(np.unique(output)) == {0.0, 2.0}
    assert 0.3 < np.mean(output == 0.0) < 0.7
    np.testing.assert_allclose(np.unique(state.h), [0.0, 1.25])
    np.testing.assert_array_equal(state.c, np.full((8, 50), 10.0))
    same = np.all(output == output[:1, :1])
    assert same == variational


def test_dropout_differs_by_step_and_by_run():
    cell = rnn_cell.DropoutWrapper(rnn_cell.BasicRNNCell(4), input_keep_prob=0.5, seed=3)
    output, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 30]), dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert not np.array_equal(sess.run(output), sess.run(output))


def test_a_session_feeds_any_length():
    x = tf.placeholder(tf.float32, [None, None, DEPTH])
    output, state = tf.nn.dynamic_rnn(rnn_cell.GRUCell(3), x, dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for shape in ((BATCH, TIME), (1, 7), (2, 1)):
            found, last = sess.run([output, state], {x: numbers(*shape, DEPTH)})
            assert found.shape == (*shape, 3)
            np.testing.assert_allclose(found[:, -1], last, rtol=1e-6)


def test_wrong_lengths_are_an_error_when_they_are_used():
    x = tf.constant(numbers(BATCH, TIME, DEPTH))
    lengths = tf.placeholder(tf.int32, [None])
    output, _ = tf.nn.dynamic_rnn(rnn_cell.GRUCell(3), x, sequence_length=lengths, dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes|a condition of shape"):
            sess.run(output, {lengths: [1, 2]})


REFUSED = {
    "no cell": (TypeError, "is not an RNNCell: .*'zero_state'", lambda x: tf.nn.dynamic_rnn(lambda a, b: a, x)),
    "no type": (ValueError, "you must give a dtype", lambda x: tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), x)),
    "matrix": (ValueError, "rank", lambda x: tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), x[0], dtype=tf.float32)),
    "lengths": (ValueError, "must be a vector of length batch_size",
                lambda x: tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), x, sequence_length=3, dtype=tf.float32)),
    "depth": (ValueError, "Input size .depth of inputs.",
              lambda x: tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), tf.placeholder(tf.float32, [2, 3, None]),
                                          dtype=tf.float32)),
    "times": (ValueError, "Time steps is not the same",
              lambda x: tf.nn.dynamic_rnn(rnn_cell.GRUCell(2), (x, x[:, 1:]), dtype=tf.float32)),
    "no steps": (ValueError, "must not be empty", lambda x: tf.nn.static_rnn(rnn_cell.GRUCell(2), [])),
    "tensor for steps": (TypeError, "must be a sequence", lambda x: tf.nn.static_rnn(rnn_cell.GRUCell(2), x)),
    "no cells": (ValueError, "at least one cell", lambda x: rnn_cell.MultiRNNCell([])),
    "flat states": (ValueError, "state_is_tuple is not set",
                    lambda x: rnn_cell.MultiRNNCell([rnn_cell.LSTMCell(2)], state_is_tuple=False)),
    "probability": (ValueError, "between 0 and 1", lambda x: rnn_cell.DropoutWrapper(rnn_cell.GRUCell(2), 1.5)),
    "residual": (ValueError, "incompatible|compatible",
                 lambda x: tf.nn.dynamic_rnn(rnn_cell.ResidualWrapper(rnn_cell.GRUCell(3)), x, dtype=tf.float32)),
    "loop": (TypeError, "must be a callable", lambda x: tf.nn.raw_rnn(rnn_cell.GRUCell(2), None)),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    error, message, call = REFUSED[case]
    with pytest.raises(error, match=message):
        call(tf.constant(numbers(BATCH, TIME, DEPTH)))


def test_a_dropout_that_keeps_all_changes_nothing():
    """The share that is kept may be a tensor, which says nothing while the graph is built."""
    x = tf.constant(numbers(BATCH, DEPTH), tf.float32)
    found = []
    for keep in (1.0, tf.placeholder_with_default(1.0, [])):
        with tf.variable_scope("cell", reuse=tf.AUTO_REUSE, initializer=tf.constant_initializer(0.1)):
            cell = tf.contrib.rnn.LayerNormBasicLSTMCell(3, layer_norm=False, dropout_keep_prob=keep)
            found.append(cell(x, cell.zero_state(BATCH, tf.float32))[0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        without, kept = session.run(found)
    np.testing.assert_allclose(kept, without, rtol=1e-6)
    assert np.abs(without).max() > 0.01


class Doubled(rnn_cell.RNNCell):
    """Outputs are twice the inputs, states are added up."""

    state_size = output_size = 2

    def call(self, inputs, state):
        return inputs * 2.0, state + inputs


WRAPPERS = {
    "device": (lambda cell: rnn_cell.DeviceWrapper(cell, "/cpu:0"), [2.0, 6.0], [2.0, 4.0]),
    "residual": (rnn_cell.ResidualWrapper, [3.0, 9.0], [2.0, 4.0]),
    "residual_function": (lambda cell: rnn_cell.ResidualWrapper(cell, lambda x, y: y - x * 4.0), [-2.0, -6.0],
                          [2.0, 4.0]),
    "dropout": (lambda cell: rnn_cell.DropoutWrapper(cell, 1.0, 1.0, 1.0), [2.0, 6.0], [2.0, 4.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPERS)
def test_one_step_of_a_cell_around_another(name):
    """Of the inputs 1 and 3, and a state of ones; dropout that keeps everything changes nothing."""
    wrap, output, state = WRAPPERS[name]
    with tf.Session() as session:
        found = session.run(wrap(Doubled())(tf.constant([[1.0, 3.0]]), tf.ones([1, 2])))
    assert [part.tolist() for part in found] == [[output], [state]]


def test_a_state_saver_gives_the_first_state_and_takes_the_last_one():
    kept = tf.Variable([[1.0, -1.0]])

    class Saver:
        def state(self, name):
            assert name == "own"
            return kept.read_value()

        def save_state(self, name, value):
            assert name == "own"
            return kept.assign(value)

    outputs, last = tf.nn.static_state_saving_rnn(Doubled(), [tf.constant([[1.0, 3.0]])] * 2, Saver(), "own")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for count in (2, 4):
            found, state = session.run([outputs, last])
            assert [part.tolist() for part in found] == [[[2.0, 6.0]]] * 2
            assert state.tolist() == session.run(kept).tolist() == [[1.0 + count, -1.0 + 3.0 * count]]
