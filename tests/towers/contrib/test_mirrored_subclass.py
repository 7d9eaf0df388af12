"""A program's subclass of ``MirroredStrategy``: its methods are the ones that are called."""

import pytest

import towerstrat.compat.v1 as tf

lib = tf.contrib.distribute
MEAN = tf.VariableAggregation.MEAN


class Watched(lib.MirroredStrategy):
    """Notes what is asked of it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.asked = []

    def _create_variable(self, next_creator, *args, **kwargs):
        self.asked.append(f"create {kwargs['name']}")
        return super()._create_variable(next_creator, *args, **kwargs)

    def _call_for_each_tower(self, fn, *args, **kwargs):
        self.asked.append("call")
        return super()._call_for_each_tower(fn, *args, **kwargs)

    def _reduce(self, *args, **kwargs):
        self.asked.append("reduce")
        return super()._reduce(*args, **kwargs)

    def _batch_reduce(self, aggregation, value_destination_pairs):
        self.asked.append(f"batch {len(value_destination_pairs)}")
        return super()._batch_reduce(aggregation, value_destination_pairs)

    def _update(self, var, options, fn, *args, **kwargs):
        self.asked.append(f"update {var.name} {options['grouped']}")
        return super()._update(var, options, fn, *args, **kwargs)

    def _update_non_slot(self, colocate_with, options, fn, *args, **kwargs):
        self.asked.append("update non slot")
        return super()._update_non_slot(colocate_with, options, fn, *args, **kwargs)


def test_methods_of_a_subclass_are_called_as_the_original_calls_them():
    strategy = Watched(["/cpu:0", "/cpu:1"])

    def model():
        k = lib.get_tower_context().tower_id
        v = tf.get_variable("v", initializer=1.0)
        w = tf.get_variable("w", initializer=2.0)
        step = tf.train.GradientDescentOptimizer(0.1).minimize((v * w - k) ** 2, tf.train.get_or_create_global_step())
        u = tf.get_variable("u", initializer=0.0, aggregation=MEAN, trainable=False)
        return step, u.assign_add(1.0 * k)

    with tf.Graph().as_default(), strategy.scope():
        strategy.call_for_each_tower(model)
    assert strategy.asked == [
        "call", "create v", "create w", "create global_step", "batch 2", "update v:0 False", "update w:0 False",
        "update non slot", "update global_step:0 True", "create u", "reduce", "update u:0 True",
    ]  # fmt: skip


def test_map_deals_to_the_devices():
    strategy = lib.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with tf.Graph().as_default(), strategy.scope():
        numbers = [tf.constant(x) for x in (1.0, 2.0, 4.0)]
        mapped = strategy.map(numbers, lambda x, y: x * y, tf.constant(10.0))
        assert [len(part.get()) for part in strategy.unwrap(mapped)] == [2, 1]
        mean = strategy.reduce(MEAN, mapped, "/cpu:0")
        total = strategy.reduce(tf.VariableAggregation.SUM, mapped, ["/cpu:0", "/cpu:1"])
        with tf.Session() as session:
            assert session.run(strategy.unwrap(mean)) == [pytest.approx(70 / 3)]
            assert session.run(strategy.unwrap(total)) == [70.0, 70.0]
