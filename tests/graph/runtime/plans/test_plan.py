"""Fetches and feeds of every kind, the host's part of a run and its order, and what is compiled how often."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.errors import UnsupportedError
from towerstrat.graph.runtime.programs.device_program import Program


@pytest.fixture
def lowerings(monkeypatch):
    """The number of programs traced so far, as the only element of a list."""
    count = [0]
    lowered = Program.lowered

    def counting(self, *args):
        count[0] += 1
        return lowered(self, *args)

    monkeypatch.setattr(Program, "lowered", counting)
    return count


def test_a_fed_variable_has_that_value_in_the_run():
    v = tf.get_variable("v", initializer=2.0)
    doubled = v * 2.0
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run([doubled, v], {v: 5.0}) == [10, 5]
        assert sess.run([doubled, v], {"v:0": 7}) == [14, 7]
        assert sess.run([doubled, v]) == [4, 2]
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(2,\)"):
            sess.run(doubled, {v: [1.0, 2.0]})


def test_a_fed_tensor_as_a_control_input():
    """As in the original: a fed placeholder needs nothing to run, a fed assignment is carried out all the same."""
    v = tf.get_variable("v", initializer=1.0)
    x, assigned = tf.placeholder(tf.float32, []), v.assign(5.0)
    with tf.control_dependencies([x, assigned]):
        y = tf.constant(2.0) + 1.0
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(y, {x: 0.0, assigned: 7.0}) == 3.0
        assert sess.run(v) == 5.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value for placeholder"):
            sess.run(y)


def test_a_variable_whose_rows_are_looked_up_cannot_be_fed():
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    row = tf.nn.embedding_lookup(v, [1])
    with tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(UnsupportedError, match=r"v:0 cannot be fed: .*test_plan.py.*variable.load"):
            sess.run(row, {v: [3.0, 4.0]})


def test_a_value_inside_a_step_cannot_be_fed():
    strategy = tpu(2)
    inside = []

    def step(context, x):
        inside.append(x.local)
        context.set_last_step_output("x", x, tf.VariableAggregation.SUM)
        return x

    with strategy.scope(), tf.Session() as sess:
        context = strategy.run_steps_on_dataset(step, tf.data.Dataset.range(9).make_one_shot_iterator(), 1)
        with pytest.raises(ValueError, match="was made inside the step function .* nothing can be fed"):
            sess.run(context.last_step_outputs, {inside[0]: 5})


def test_structures_of_feeds_and_what_is_no_dictionary():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    with tf.Session() as sess:
        assert sess.run(x - y, {(x, y): (5.0, 3.0)}) == 2
        with pytest.raises(TypeError, match="feed_dict must be a dictionary"):
            sess.run(x, [x])


def test_fed_strings_beside_numbers():
    text, number = tf.placeholder(tf.string), tf.placeholder(tf.float32)
    fetches = [tf.identity(text), tf.reduce_sum(number), text]
    with tf.Session() as sess:
        got = sess.run(fetches, {text: ["a", "b"], number: np.ones((2, 3))})
        assert [got[0].tolist(), got[1], got[2].tolist()] == [[b"a", b"b"], 6, [b"a", b"b"]]
        assert sess.run(fetches, {text: "a", number: 4}) == [b"a", 4, b"a"]


def test_effects_on_the_host_keep_their_order():
    log = []

    def note(what):
        log.append(what)
        return np.float32(len(log))

    v = tf.get_variable("v", initializer=0.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        first = tf.py_func(lambda: note("first"), [], tf.float32)
    with tf.control_dependencies([first]):
        more = v.assign_add(10.0)
    second = tf.py_func(lambda x: note(f"second {x:g}"), [more], tf.float32)
    with tf.control_dependencies([second]):
        last = v.assign_add(100.0)
    third = tf.py_func(lambda: note("third"), [], tf.float32)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run([last, third]) == [111, 3]
    assert log == ["first", "second 11", "third"]


def test_a_count_on_the_host_keeps_its_place_among_assignments():
    v = tf.get_variable("v", initializer=0)
    fetches = [v.assign_add(5), tf.count_up_to(v, 10), v.assign_add(100)]
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(fetches) == [5, 5, 106]


def test_host_operations_in_towers_are_refused_by_name():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        other = tf.data.Dataset.range(9).make_one_shot_iterator()

        def step(context, x):
            return strategy.call_for_each_tower(lambda x: x + other.get_next(), x)

        context = strategy.run_steps_on_dataset(step, tf.data.Dataset.range(9).make_one_shot_iterator(), 1)
        with pytest.raises(UnsupportedError, match=r"IteratorGetNext.*test_plan.py.*runs on the host.*Call it outside"):
            sess.run(context.run_op)


def test_a_variable_keeps_its_shape_in_a_step():
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        v = tf.Variable([0.0], validate_shape=False)

        def step(context, x):
            return tf.assign(v, tf.concat([v, [1.0]], 0), validate_shape=False)

        context = strategy.run_steps_on_dataset(step, tf.data.Dataset.range(9).make_one_shot_iterator(), 1)
        sess.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"has shape \(1,\) before a step and \(2,\) after"):
            sess.run(context.run_op)


def test_the_order_of_feeds_compiles_nothing_again(lowerings):
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    difference = x - y
    with tf.Session() as sess:
        assert sess.run(difference, {x: 1, y: 2}) == -1
        assert sess.run(difference, {y: 2, x: 1}) == -1
    assert lowerings == [1]


def test_training_and_evaluation_in_turn_compile_once_each(lowerings):
    strategy = tpu(2)
    with strategy.scope(), tf.Session() as sess:
        w = tf.get_variable("w", initializer=1.0)
        local = tf.get_variable(
            "local", initializer=1.0, synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )  # fmt: skip
        optimizer = tf.train.AdamOptimizer(0.1)
        train = strategy.group(strategy.call_for_each_tower(lambda: optimizer.minimize(tf.square(w - 3.0))))
        loss = tf.square(w - tf.placeholder_with_default(3.0, []))
        sess.run(tf.global_variables_initializer())
        operations = None
        for _ in range(3):
            sess.run(train)
            sess.run([loss, w])
            sess.run([strategy.unwrap(w), strategy.unwrap(local)])
            sess.run(local)
            operations = operations or len(sess.graph.get_operations())
    assert lowerings[0] <= 4
    assert len(sess.graph.get_operations()) == operations


def test_a_finished_step_takes_no_further_control_inputs():
    strategy = tpu(2)
    made = []
    with strategy.scope():
        v = tf.get_variable("v", initializer=0.0)

        def step(context, x):
            made.extend([v.assign_add(1.0).op, v.assign_add(10.0).op])
            return made[0]

        strategy.run_steps_on_dataset(step, tf.data.Dataset.range(9).make_one_shot_iterator(), 1)
    with pytest.raises(ValueError, match=r"test_plan.py.*the step function .* was built without it"):
        made[0].add_control_inputs([made[1]])


def test_a_step_loop_runs_beside_operations_that_run_one_by_one():
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=tf.constant(0, tf.int64))
        iterator = tf.data.Dataset.range(9).make_one_shot_iterator()
        run_op = strategy.run_steps_on_dataset(lambda c, x: v.assign_add(x), iterator, 4).run_op
        x = tf.placeholder(tf.float32, [])
        y = x * x
        (gradient,) = tf.gradients(y * tf.py_func(lambda a: a, [y], tf.float32), x)
        sess.run(v.initializer)
        assert sess.run([gradient, run_op], {x: 3.0}) == [54.0, None]
        assert sess.run(v) == 6


def test_a_summary_in_the_middle_of_a_model_leaves_the_step_one_program(lowerings):
    x = tf.placeholder(tf.float32, [3])
    v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0])
    hidden = tf.square(v * x)
    summary = tf.summary.merge([tf.summary.scalar("most", tf.reduce_max(hidden)), tf.summary.histogram("all", hidden)])
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(hidden))
    with tf.Session() as sess:
        sess.run(v.initializer)
        lowerings[0] = 0
        for most in (9.0, 9.0 * 0.8**2):
            text, _ = sess.run([summary, train], {x: np.ones(3, np.float32)})
            values = {value.tag: value for value in tf.Summary.FromString(text).value}
            assert values["most"].simple_value == pytest.approx(most)
            assert values["all"].histo.max == pytest.approx(most)
        assert lowerings[0] == 1
