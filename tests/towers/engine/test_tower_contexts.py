"""Contexts: what is current where, and what is said when it is the wrong one."""

import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu

lib = tf.contrib.distribute


def test_without_a_strategy_the_default_tower_context_is_current():
    assert lib.get_cross_tower_context() is None
    assert not lib.has_distribution_strategy()
    context = lib.get_tower_context()
    assert context.is_single_tower
    assert context.num_towers == 1
    assert context.tower_id == 0
    seen = []
    result = context.merge_call(lambda d, x: seen.append(lib.has_distribution_strategy()) or (d.num_towers, x), 5)
    assert result == (1, 5)
    assert seen == [False]


def test_scope_tower_and_merge_contexts_follow_each_other():
    strategy = tpu(2)
    seen = []

    def note():
        seen.append((lib.get_cross_tower_context() is strategy, lib.get_tower_context() is not None))

    with strategy.scope() as entered:
        assert entered is strategy
        assert lib.get_distribution_strategy() is strategy
        note()

        def fn():
            note()
            lib.get_tower_context().merge_call(lambda d: note())
            note()

        strategy.call_for_each_tower(fn)
        with strategy.scope():
            note()
        note()
    assert seen == [(True, False), (False, True), (True, False), (False, True), (True, False), (True, False)]
    assert not lib.has_distribution_strategy()


def test_merge_call_and_call_for_each_tower_nest():
    strategy = tpu(2)

    def inner(x):
        return lib.get_tower_context().merge_call(lambda d, v: d.reduce(tf.VariableAggregation.SUM, v, "/cpu:0"), x)

    def outer():
        x = tf.constant(1.0)
        return lib.get_tower_context().merge_call(lambda d, v: d.call_for_each_tower(inner, v), x)

    with strategy.scope():
        parts = strategy.unwrap(strategy.call_for_each_tower(outer))
    with tf.Session() as sess:
        assert sess.run(parts) == [2.0] * len(parts)


class OwnError(Exception):
    pass


def test_exceptions_come_out_with_their_own_type():
    strategy = tpu(2)

    def fail(*_):
        raise OwnError("mine")

    with strategy.scope():
        with pytest.raises(OwnError, match="mine"):
            strategy.call_for_each_tower(fail)
        with pytest.raises(OwnError, match="mine"):
            strategy.call_for_each_tower(lambda: lib.get_tower_context().merge_call(fail))
        assert lib.get_cross_tower_context() is strategy
    assert not lib.has_distribution_strategy()


def test_messages():
    one, two = tpu(2), tpu(2)
    with pytest.raises(RuntimeError, match=r'Need to be inside "with distribution_strategy.scope\(\)" for'):
        one.call_for_each_tower(lambda: None)
    with one.scope():
        with pytest.raises(RuntimeError, match="Mixing different DistributionStrategy objects: .* is not"):
            two.call_for_each_tower(lambda: None)
        with pytest.raises(RuntimeError, match="Mixing different"), two.scope():
            pass

        def inside():
            with pytest.raises(RuntimeError, match=r"cross-tower context, use get_tower_context\(\).merge_call\(\)"):
                one.reduce(tf.VariableAggregation.SUM, 0, "/cpu:0")
            with pytest.raises(RuntimeError, match="cross-tower context"), one.scope():
                pass
            return lib.get_tower_context()

        left = one.call_for_each_tower(inside)
        with pytest.raises(RuntimeError, match="Need to be inside `call_for_each_tower"):
            left.merge_call(lambda d: None)

        def other():
            with pytest.raises(RuntimeError, match="Mismatching tower context"):
                left.merge_call(lambda d: None)
            lib.require_tower_context(lib.get_tower_context())

        one.call_for_each_tower(other)


def test_merge_call_inside_a_condition_that_differs_by_tower_is_refused():
    strategy = tpu(2)

    def fn():
        context = lib.get_tower_context()
        return tf.cond(
            tf.equal(context.tower_id, 0),
            lambda: context.merge_call(
                lambda d, v: d.reduce(tf.VariableAggregation.SUM, v, "/cpu:0"), tf.constant(1.0)
            ),
            lambda: tf.constant(0.0),
        )

    with strategy.scope(), pytest.raises(RuntimeError, match="condition may differ between towers"):
        strategy.call_for_each_tower(fn)


def test_merge_call_inside_a_condition_that_is_the_same_everywhere_works():
    strategy = tpu(2)
    flag = tf.placeholder(tf.bool, [])

    def fn():
        context = lib.get_tower_context()
        x = 1.0 + context.tower_id
        return tf.cond(
            flag,
            lambda: tf.identity(context.merge_call(lambda d, v: d.reduce(tf.VariableAggregation.SUM, v, "/cpu:0"), x)),
            lambda: tf.constant(0.0),
        )

    with strategy.scope():
        parts = strategy.unwrap(strategy.call_for_each_tower(fn))
    with tf.Session() as sess:
        assert sess.run(parts, {flag: True}) == [3.0, 3.0]
        assert sess.run(parts, {flag: False}) == [0.0, 0.0]


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t == 0,
        lambda t: t != 1,
        lambda t: bool(t),
        lambda t: [1, 2][t],
        lambda t: {t: 1},
        lambda t: int(t),
        lambda t: list(range(t)),
        lambda t: f"{t}",
    ],
)
def test_a_python_value_of_the_tower_id_is_refused_with_the_users_line(use):
    strategy = tpu(2)
    with strategy.scope(), pytest.raises(TypeError, match="one trace of the function stands for all towers") as error:
        strategy.call_for_each_tower(lambda: use(lib.get_tower_context().tower_id))
    assert "test_tower_contexts.py" in str(error.value)


def test_tower_id_takes_the_type_of_the_other_side():
    strategy = tpu(2)

    def fn():
        i = lib.get_tower_context().tower_id
        return (
            tf.constant(1.0) + i,
            i * 0.5,
            2 - i,
            tf.equal(i, 1),
            tf.gather(tf.constant([10, 20]), i),
            tf.constant(3, tf.int64) * i,
            tf.cond(tf.equal(i, 0), lambda: tf.constant(7), lambda: tf.constant(8)),
        )

    with strategy.scope():
        parts = [strategy.unwrap(v) for v in strategy.call_for_each_tower(fn)]
    with tf.Session() as sess:
        assert sess.run(parts) == [[1.0, 2.0], [0.0, 0.5], [2, 1], [False, True], [10, 20], [0, 3], [7, 8]]


def test_variable_creators_see_one_call_per_copy():
    names = []

    def creator(next_creator, **kwargs):
        names.append(kwargs["name"])
        return next_creator(**kwargs)

    strategy = tpu(2)
    with tf.variable_creator_scope(creator), strategy.scope():
        strategy.call_for_each_tower(lambda: tf.get_variable("w", [2]))
        tf.Variable(1.0, name="u")
    assert names == ["w", "w/replica_1/", "u", "u/replica_1/"]


def test_loss_reduction():
    assert lib.get_loss_reduction() == tf.VariableAggregation.MEAN
    tf.losses.mean_squared_error([1.0], [2.0], reduction=tf.losses.Reduction.SUM)
    assert lib.get_loss_reduction() == tf.VariableAggregation.SUM
    tf.losses.mean_squared_error([1.0], [2.0])
    assert lib.get_loss_reduction() == tf.VariableAggregation.MEAN


def test_another_graph_of_the_program_has_no_strategy():
    """As in the original, where the contexts of strategies belong to graphs; in it the same one is entered anew."""
    strategy = lib.OneDeviceStrategy("/cpu:0")
    with tf.Graph().as_default() as graph, strategy.scope():
        with tf.Graph().as_default():
            assert not lib.has_distribution_strategy()
            with strategy.scope():
                assert lib.get_distribution_strategy() is strategy
                seen = strategy.call_for_each_tower(lambda: tf.get_variable("v", [2]))
            assert strategy.unwrap(seen)[0].name == "v:0"
        assert lib.get_distribution_strategy() is strategy
        with graph.as_default():
            assert lib.get_distribution_strategy() is strategy
