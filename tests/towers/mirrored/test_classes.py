"""Towers whose Python goes different ways by their number: each way is one copy of the model, by whatever numbers."""

import re

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.lowering.shard_classes import index_sets
from towerstrat.graph.runtime.loops.step_loop_stage import lower_loop
from towerstrat.graph.runtime.plans.plan import DeviceStage

ROWS = np.random.RandomState(0).randn(8, 4, 6).astype(np.float32)


def weights(i):
    return tf.get_variable(f"w{i}", [6, 6])


def model(x, function=tf.tanh):
    for i in range(2):
        x = function(tf.matmul(x, weights(i)))
    return x


def way(k):
    return tf.tanh if k % 2 else tf.sin


def after(check, x):
    with tf.control_dependencies([check]):
        return tf.identity(x)


def looped(step, x):
    first = weights(0)
    return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, step(tf.matmul(h, first))), (0, x))[1]


FORMS = {
    "every other": lambda x, k: model(x * 2.0 if k % 2 else x),
    "every third": lambda x, k: model(x, (tf.tanh, tf.sin, tf.cos)[k % 3]),
    "one alone": lambda x, k: model(tf.nn.softmax(x) if k == 1 else x),
    "the first": lambda x, k: model(x, tf.sin if k < 2 else tf.tanh),
    "ways in ways": lambda x, k: model(x, (tf.tanh if k < 3 else tf.cos) if k % 2 else tf.sin),
    "a number of each": lambda x, k: model(x * (k + 0.5) if k % 2 else x),
    "a seed of each": lambda x, k: model(tf.nn.dropout(x, 0.5, seed=k) if k % 2 else x),
    "a branch over what is outside": lambda x, k: tf.cond(
        tf.reduce_sum(x) > 0, lambda: model(x, way(k)), lambda: x + 1.0
    ),
    "a branch with a number of each": lambda x, k: tf.cond(
        tf.reduce_sum(x) > 0, lambda: model(x * (k + 0.5), way(k)), lambda: tf.nn.dropout(x, 0.5, seed=k) + k
    ),
    "a branch in a branch": lambda x, k: tf.cond(
        tf.reduce_sum(x) > 0, lambda: tf.cond(x[0, 0] > 0, lambda: model(x, way(k)), lambda: x * k), lambda: x + 1.0
    ),
    "a branch with what is outside for a result": lambda x, k: tf.cond(
        tf.reduce_sum(x) > 0, lambda: x, lambda: model(x, way(k))
    ),
    "a loop over what is outside": lambda x, k: looped(lambda h: way(k)(h + x) * (k + 0.5), x),
    "a map with a number of each": lambda x, k: tf.map_fn(lambda row: way(k)(row) * (k + 0.5), model(x)),
    "an assertion": lambda x, k: model(after(tf.Assert(tf.reduce_sum(x) < 1e6, [f"tower {k}", x]), x), way(k)),
    "an assertion in a branch": lambda x, k: tf.cond(
        x[0, 0] > 0,
        lambda: model(after(tf.Assert(tf.reduce_sum(x) < 1e6, [f"tower {k}"]), x), way(k)),
        lambda: x,
    ),
    "checked numbers": lambda x, k: model(tf.check_numerics(x, f"tower {k}"), way(k)),
    "loops of different lengths": lambda x, k: tf.while_loop(
        lambda i, h: i < 1 + k % 3, lambda i, h: (i + 1, tf.tanh(h * 2.0)), (0, model(x))
    )[1],
    "sizes in a branch": lambda x, k: tf.cond(
        x[0, 0] > 0, lambda: tf.reshape(model(x), [1 + k % 2, -1])[0, :6], lambda: x[k % 4]
    ),
    "a gradient in a branch": lambda x, k: tf.cond(
        x[0, 0] > 0, lambda: tf.gradients(tf.reduce_sum(tf.square(model(x, way(k)))), weights(0))[0], lambda: weights(1)
    ),
    "a gradient by what is outside in a branch": lambda x, k: tf.cond(
        x[0, 0] > 0, lambda: tf.gradients(tf.reduce_sum(tf.square(model(x, way(k)))), x)[0], lambda: x
    ),
}  # fmt: skip
"""(rows, tower's number) -> a value."""
WAYS = {"every third": lambda k: k % 3, "ways in ways": lambda k: (k % 2, k < 3 or k % 2), "the first": lambda k: k < 2}
"""Which way a tower goes, where this is not by whether its number is even."""
APART = ("a gradient by what is outside in a branch", "sizes in a branch", "loops of different lengths")
"""Forms of which more than that many are made."""


def measured(form, parts, k):
    """A loss, its gradient, and the gradient of that."""
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        first, second = weights(0), weights(1)
        loss = tf.reduce_mean(tf.square(form(parts[k], k)))
        gradient = tf.gradients(loss, first)[0]
        gradient = first if gradient is None else gradient
        again = [g for g in tf.gradients(tf.reduce_sum(tf.square(gradient)), [first, second]) if g is not None]
        return loss, tf.reduce_sum(gradient), tf.add_n([tf.reduce_sum(g) for g in again])


def texts(session, fetches, feed):
    plan = session._plan(fetches, feed)[1]
    return "".join(p.compiled.as_text() for s in plan.stages if isinstance(s, DeviceStage) for p in s.compiled.programs)


def results(form, towers, together):
    """What the towers of a form give, in their order: of a strategy, or one after the other on one device."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        parts = [tf.placeholder(tf.float32, [4, 6]) for _ in range(towers)]
        feed = dict(zip(parts, ROWS, strict=False))
        if together:
            strategy = tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(towers)])
            context = tf.contrib.distribute.get_tower_context

            def fn():
                return measured(form, parts, context().tower_id)

            with strategy.scope():
                fetches = list(zip(*[strategy.unwrap(r) for r in strategy.call_for_each_tower(fn)], strict=True))
        else:
            fetches = [measured(form, parts, k) for k in range(towers)]
        session.run(tf.global_variables_initializer())
        found = session.run(fetches, feed)
        ways = len(set(index_sets(get_default_graph().carried_out(), strategy.engine.axis))) if together else None
        return np.array(found), ways, len(re.findall(r" dot\(", texts(session, fetches, feed)))


@spread(("name", "towers"), [(n, t) for t in (5, 2, 3, 8) for n in FORMS], every=9)
def test_a_way_is_one_copy_with_the_numbers_of_one_device(name, towers):
    found, ways, _ = results(FORMS[name], towers, together=True)
    wanted, _, _ = results(FORMS[name], towers, together=False)
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=1e-6)
    if name not in APART:
        assert ways == len({WAYS.get(name, lambda k: k % 2)(k) for k in range(towers)})


@pytest.mark.parametrize("name", ["every other", "a branch with a number of each"])
def test_products_of_a_compiled_program_do_not_grow_with_the_towers(name):
    four, eight = (results(FORMS[name], towers, together=True)[2] for towers in (4, 8))
    assert 0 < eight == four
    assert results(FORMS[name], 8, together=False)[2] > 3 * eight


# ---- what runs in steps ------------------------------------------------------------------------------------------


def trained(towers, choose):
    """The lowered loop of ten steps of training with batch normalization."""
    with tf.Graph().as_default():
        strategy = tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(towers)])

        def tower(rows, labels):
            net = choose(rows, tf.contrib.distribute.get_tower_context().tower_id)
            for _ in range(2):
                net = tf.nn.relu(tf.layers.batch_normalization(tf.layers.dense(net, 6), training=True))
            loss = tf.losses.sparse_softmax_cross_entropy(labels, net)
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss), loss

        def step(context, rows, labels):
            train, loss = strategy.call_for_each_tower(tower, rows, labels)
            context.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
            return strategy.group(train)

        with strategy.scope():
            data = tf.data.Dataset.from_tensors((ROWS[0, 0], np.int32(1))).repeat().batch(4, drop_remainder=True)
            iterator = strategy.distribute_dataset(lambda: data).make_one_shot_iterator()
            outputs = strategy.run_steps_on_dataset(step, iterator, iterations=10).last_step_outputs
        return lower_loop(outputs["loss"].op, 10).as_text().count("dot_general")


@pytest.mark.parametrize("ways", [2, 3])
def test_steps_with_updates_that_are_collected(ways):
    """The collection of updates has those of the towers before: who waits for what others do waits for nothing."""
    functions = (tf.identity, tf.sin, tf.cos)
    one = trained(6, lambda rows, k: rows)
    assert trained(6, lambda rows, k: functions[k % ways](rows)) == ways * one


# ---- what towers meet for ----------------------------------------------------------------------------------------


def test_gradients_through_what_towers_of_different_ways_meet_for():
    def tower():
        context = tf.contrib.distribute.get_tower_context()
        k = context.tower_id
        hidden = parts[k] * tf.get_variable("w", [6], initializer=tf.ones_initializer())
        hidden = tf.sin(hidden) if k % 2 else hidden
        total = context.merge_call(
            lambda d, v: d.reduce(tf.VariableAggregation.SUM, v, "/cpu:0"), tf.reduce_sum(hidden)
        )
        loss = tf.reduce_sum(hidden) * total
        return loss, tf.gradients(loss, tf.trainable_variables())[0]

    with tf.Graph().as_default(), tf.Session() as session:
        parts = [tf.placeholder(tf.float32, [6]) for _ in range(3)]
        strategy = tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(3)])
        with strategy.scope():
            fetches = [strategy.unwrap(r) for r in strategy.call_for_each_tower(tower)]
        session.run(tf.global_variables_initializer())
        losses, gradients = session.run(fetches, dict(zip(parts, ROWS[0], strict=False)))
    hidden = [np.sin(x) if k % 2 else x for k, x in enumerate(ROWS[0, :3])]
    slopes = [x * np.cos(x) if k % 2 else x for k, x in enumerate(ROWS[0, :3])]
    total = np.sum(hidden)
    np.testing.assert_allclose(losses, [h.sum() * total for h in hidden], rtol=1e-5)
    # What the other towers add to the total is theirs.
    wanted = [slope * (total + h.sum()) for slope, h in zip(slopes, hidden, strict=True)]
    np.testing.assert_allclose(gradients, wanted, rtol=1e-5)


# ---- what they say -----------------------------------------------------------------------------------------------


def said(fn, fed):
    """Runs a function on four towers with a number of each."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = [tf.placeholder(tf.float32, []) for _ in range(4)]
        strategy = tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(4)])
        context = tf.contrib.distribute.get_tower_context
        with strategy.scope():
            results = strategy.unwrap(
                strategy.call_for_each_tower(lambda: fn(x[context().tower_id], context().tower_id))
            )
        assert all(op.axis_indices is None for op in get_default_graph().carried_out())
        return session.run(list(results), dict(zip(x, fed, strict=True)))


def test_an_assertion_that_fails_says_what_its_tower_would():
    def fn(x, k):
        return after(tf.Assert(x < 5.0, [f"tower {k} has", x]), x * 2.0)

    assert said(fn, [1.0, 2.0, 3.0, 4.0]) == [2.0, 4.0, 6.0, 8.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[tower 2 has\] \[7\]"):
        said(fn, [1.0, 2.0, 7.0, 4.0])


def gradient_of_root(x, k):
    x = x * 1.0
    return tf.gradients(tf.sqrt(tf.check_numerics(x, f"tower {k}")), x)[0]


def test_numbers_that_are_none_in_a_tower():
    with pytest.raises(tf.errors.InvalidArgumentError, match="tower 3 : Tensor had"):
        said(lambda x, k: tf.check_numerics(x, f"tower {k}"), [1.0, 2.0, 7.0, np.nan])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"detected in gradient.*\(tower 1\)"):
        said(gradient_of_root, [1.0, 0.0, 7.0, 2.0])


@pytest.mark.parametrize("way", ["Print", "print"])
def test_each_tower_prints_its_own_words(way, capfd):
    def fn(x, k):
        if way == "Print":
            return tf.Print(x, [x], f"tower {k}: ")
        return after(tf.print("tower", k, ":", x), x)

    said(fn, [0.5, 1.5, 2.5, 3.5])
    printed = re.findall(r"tower (\d) ?: \[?([\d.]+)", capfd.readouterr().err)
    assert sorted(printed) == [("0", "0.5"), ("1", "1.5"), ("2", "2.5"), ("3", "3.5")]


# ---- regularized layers ------------------------------------------------------------------------------------------


def penalized(total):
    """Three towers with layers whose penalties the first tower makes with the variables: losses, variables, dots."""
    rows = (np.arange(48).reshape(3, 4, 4) % 7 / 7.0 - 0.4).astype(np.float32)
    start = tf.constant_initializer(0.1 * np.arange(16).reshape(4, 4) - 0.5)
    penalty = tf.contrib.layers.l2_regularizer(0.1)

    def tower():
        k = tf.contrib.distribute.get_tower_context().tower_id
        net = parts[k]
        for i in range(2):
            net = tf.layers.dense(
                net, 4, tf.tanh, name=f"d{i}", kernel_regularizer=penalty, kernel_initializer=start
            )  # fmt: skip
        loss = tf.reduce_mean(tf.square(net)) + total(k)
        return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss), loss

    with tf.Graph().as_default(), tf.Session() as session:
        parts = [tf.placeholder(tf.float32, [4, 4]) for _ in range(3)]
        feed = dict(zip(parts, rows, strict=True))
        strategy = tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(3)])
        with strategy.scope():
            train, loss = strategy.call_for_each_tower(tower)
            losses, train = list(strategy.unwrap(loss)), strategy.group(train)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train, feed)
        variables = [float(np.sum(v)) for v in session.run(tf.trainable_variables())]
        return session.run(losses, feed), variables, texts(session, losses, feed).count(" dot(")


@pytest.mark.parametrize("all_add", [True, False])
def test_penalties_that_the_first_tower_makes(all_add):
    """Values of TensorFlow 1.12: a penalty is the first tower's, and so is its gradient."""

    def total(k):
        return tf.losses.get_regularization_loss() if all_add or k == 0 else 0.0

    losses, variables, dots = penalized(total)
    wanted = [0.451807, 0.536968, 0.481626] if all_add else [0.451807, 0.130657, 0.075315]
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    np.testing.assert_allclose(variables, [3.89412, -0.00968, 3.60104, -0.01697], atol=1e-5)
    assert dots == 2


# ---- gradients of all towers -------------------------------------------------------------------------------------


def of_the_whole(function, together):
    """Gradients by two tensors of all towers, taken outside of these: side by side, or on one device."""
    with tf.Graph().as_default(), tf.Session() as session:
        parts, (a, b) = ([tf.placeholder(tf.float32, s) for _ in range(n)] for n, s in ((3, [4, 6]), (2, [6, 6])))

        def tower(k=None):
            k = tf.contrib.distribute.get_tower_context().tower_id if k is None else k
            return function(parts[k], k, a, b)

        if together:
            strategy = tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(3)])
            with strategy.scope():
                results = strategy.unwrap(strategy.call_for_each_tower(tower))
        else:
            results = [tower(k) for k in range(3)]
        total = tf.add_n([r * (k + 1.0) for k, r in enumerate(results)])
        feed = {**dict(zip(parts, ROWS, strict=False)), a: np.eye(6) * 0.5 + 0.1, b: np.eye(6) * 0.2 - 0.1}
        return session.run(tf.gradients(total, [a, b]), feed)


def test_gradients_outside_of_towers_that_go_several_ways():
    def function(x, k, a, b):
        return tf.reduce_sum(tf.matmul((tf.sin if k % 2 else tf.cos)(tf.matmul(x, a)), b))

    for mine, wanted in zip(of_the_whole(function, True), of_the_whole(function, False), strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5)


def test_gradients_outside_by_what_not_all_towers_use_are_refused():
    def function(x, k, a, b):
        return tf.reduce_sum(tf.square(tf.matmul(tf.matmul(x, a) if k % 2 else x, b)))

    with pytest.raises(UnsupportedError, match="in the function of the towers"):
        of_the_whole(function, True)
