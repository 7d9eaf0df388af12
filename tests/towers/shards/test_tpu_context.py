"""The number of shards that code is built for."""

import functools

import jax
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat.graph.ir.mesh import Axis
from towerstrat.towers.shards import tpu_context as shards


def test_shards_are_towers():
    context = shards.get_tpu_context()
    assert context.number_of_shards is None
    with shards.tpu_shard_context(4):
        assert context.number_of_shards == 4
        with pytest.raises(NotImplementedError, match="cannot be nested"), shards.tpu_shard_context(2):
            pass
    assert context.number_of_shards is None
    for towers in (1, 2):
        distribution = tpu(towers)
        seen = []
        with tf.Graph().as_default(), distribution.scope():
            distribution.call_for_each_tower(lambda seen=seen: seen.append(context.number_of_shards) or tf.zeros([]))
        assert seen == [towers]
        assert context.number_of_shards is None


@pytest.mark.parametrize("size", [1, 4])
def test_shards_are_the_positions_of_the_axis_that_operations_are_made_under(size):
    context = shards.get_tpu_context()
    w = tf.get_variable("w", initializer=1.0)
    with tf.get_default_graph().under(Axis("shard", jax.devices()[:size])):
        assert context.number_of_shards == size
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        train = optimizer.minimize(3.0 * w)
        seen = []
        tf.contrib.eager.defun(lambda: seen.append(context.number_of_shards) or tf.zeros([]))()
        assert seen == [size]
    assert context.number_of_shards is None
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run(w) == pytest.approx(0.7)


class Model:
    def method(self, x, y=1):
        return x


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (Model().method, {0: "at least 1 argument", 1: None, 2: None, 3: "at most 2 arguments"}),
        (functools.partial(Model().method, y=2), {0: "exactly 1 argument", 1: None}),
        (functools.partial(lambda a, b: a, 1), {0: "exactly 1 argument", 1: None, 2: "exactly 1 argument"}),
        (lambda *args: args, {0: None, 5: None}),
        (lambda a, *args, **kwargs: a, {0: "at least 1 argument", 4: None}),
    ],
)
def test_numbers_of_arguments(function, takes):
    for count, needed in takes.items():
        assert shards.check_function_argument_count(function, count, None) == needed
