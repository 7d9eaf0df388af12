"""The samples of the 1.12 reference page of TPUStrategy, as they stand there, and what else it says, in our words."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.towers.common import run, tpu


@pytest.mark.parametrize("towers", [1, 3])
def test_the_samples_as_they_stand(towers, capsys):
    """The page calls ``tf.get_tower_context``, which 1.12 has in ``tf.contrib.distribute``; ``fn`` is given 3."""
    distribution_strategy = tpu(towers)

    def merge_fn(distribution, three_plus_tower_id):
        return sum(distribution.unwrap(three_plus_tower_id))

    def fn(three):
        tower_ctx = tf.get_tower_context()
        v = three + tower_ctx.tower_id
        s = tower_ctx.merge_call(merge_fn, v)
        return s + v

    with distribution_strategy.scope():
        merged_results = distribution_strategy.call_for_each_tower(fn, 3)
        print(distribution_strategy.unwrap(merged_results))
    assert capsys.readouterr().out.startswith("[")
    ids = range(towers)
    found = distribution_strategy.unwrap(merged_results)
    assert (found if towers == 1 else run(found)) == [sum(3 + j for j in ids) + 3 + i for i in ids]

    seen = []
    with distribution_strategy.scope():

        def fn(device_id):
            with tf.device(distribution_strategy.worker_devices[device_id]):
                seen.append(distribution_strategy.worker_devices[device_id])
                return 10 * device_id

        numbers = distribution_strategy.call_for_each_tower(fn, distribution_strategy.worker_device_index)
    assert seen == [distribution_strategy.worker_devices[0]]
    assert towers == 1 or run(distribution_strategy.unwrap(numbers)) == [0, 10, 20]

    def dataset_fn():
        return tf.data.Dataset.from_tensors([[1.0]]).repeat()

    with distribution_strategy.scope():
        distributed_dataset = distribution_strategy.distribute_dataset(dataset_fn)
        iterator = distributed_dataset.make_one_shot_iterator()
        tower_results = distribution_strategy.call_for_each_tower(lambda x: 2 * x, iterator.get_next())
    assert np.array(run(distribution_strategy.unwrap(tower_results))).tolist() == [[[2.0]]] * towers


def merged_over(towers, first=3):
    def merge_fn(distribution, three_plus_tower_id):
        return sum(distribution.unwrap(three_plus_tower_id))

    def fn(three):
        context = tf.contrib.distribute.get_tower_context()
        v = three + context.tower_id
        total = context.merge_call(merge_fn, v)
        return total + v

    distribution = tpu(towers)
    with distribution.scope():
        return distribution.unwrap(distribution.call_for_each_tower(fn, first))


def test_merge_call_gives_55_to_62_on_eight_towers():
    assert run(merged_over(8)) == list(range(55, 63))


@pytest.mark.parametrize("towers", [1, 2, 3, 5])
def test_merge_call_gives_what_arithmetic_says(towers):
    values = [3 + i for i in range(towers)]
    got = merged_over(towers)
    if towers == 1:
        assert got == [6]
    else:
        assert run(got) == [sum(values) + v for v in values]


def test_worker_device_index_gives_each_tower_its_number():
    distribution = tpu(4)
    with distribution.scope():
        result = distribution.call_for_each_tower(lambda i: tf.to_float(i) * 2.0, distribution.worker_device_index)
        assert run(distribution.unwrap(result)) == [0.0, 2.0, 4.0, 6.0]
        assert len(distribution.worker_devices) == 4


def test_distribute_dataset_feeds_call_for_each_tower():
    distribution = tpu(3)
    with distribution.scope():
        dataset = distribution.distribute_dataset(lambda: tf.data.Dataset.range(6))
        iterator = dataset.make_one_shot_iterator()
        doubled = distribution.call_for_each_tower(lambda x: 2 * x, iterator.get_next())
        parts = distribution.unwrap(doubled)
    with tf.Session() as sess:
        assert sess.run(parts) == [0, 2, 4]
        assert sess.run(parts) == [6, 8, 10]
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            sess.run(parts)


def test_colocate_vars_with_and_update():
    distribution = tpu(2)
    with distribution.scope():
        v1 = tf.get_variable("v1", initializer=1.0)
        with distribution.colocate_vars_with(v1):
            v2 = tf.get_variable("v2", initializer=2.0)
            v3 = tf.get_variable("v3", initializer=3.0)
        result = distribution.update(v1, lambda a, b, c: a.assign(b * c), v2, v3)
        assert v2.devices == v1.devices
    assert np.allclose(run(result), 6.0)


def test_properties():
    distribution = tpu(8, steps_per_run=20)
    assert distribution.steps_per_run == 20
    assert not distribution.between_graph
    assert not distribution.is_single_tower
    assert (distribution.num_towers, distribution.num_hosts, distribution.num_towers_per_host) == (8, 1, 8)
    assert distribution.should_checkpoint
    assert distribution.should_init
    assert distribution.should_save_summary
    assert distribution.parameter_devices == distribution.worker_devices
    assert len(set(distribution.worker_devices)) == 8
    assert distribution.get_host_cpu_device(0).endswith("device:CPU:0")
    config = tf.ConfigProto()
    distribution.configure(config)
    assert config.isolate_session_state
    with tf.Session() as sess:
        sess.run(distribution.initialize())
        sess.run(distribution.finalize())


def test_steps_per_run_has_a_default_and_bad_numbers_are_refused():
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    assert tf.contrib.distribute.TPUStrategy(resolver).num_towers == 8
    with pytest.raises(ValueError, match="num_cores=9, but there are 8 cpu device"):
        tf.contrib.distribute.TPUStrategy(resolver, 1, num_cores=9)
    with pytest.raises(ValueError, match="steps_per_run must be at least 1"):
        tf.contrib.distribute.TPUStrategy(resolver, 0)
    with pytest.raises(TypeError, match="TPUClusterResolver"):
        tf.contrib.distribute.TPUStrategy("")
