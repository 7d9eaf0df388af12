"""``Session._make_callable_from_options``: what libraries run their functions of graphs by."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.errors import UnsupportedError
from towerstrat.platform import messages


def test_feeds_fetches_and_targets():
    with tf.Graph().as_default(), tf.Session() as session:
        x, v = tf.placeholder(tf.float32, [None]), tf.Variable(1.0)
        options = messages.CallableOptions(
            feed=[x.name], fetch=[(x * 2).name, v.name], target=[v.assign_add(3.0).op.name]
        )
        session.run(v.initializer)
        call = session._make_callable_from_options(options)
        doubled, _ = call(np.array([1.0, 2.0], np.float32))
        assert doubled.tolist() == [2.0, 4.0]
        assert session.run(v) == 4.0
        call([1.0])
        assert session.run(v) == 7.0
        with pytest.raises(ValueError, match="Expected 1 values"):
            call()


def test_a_connection_takes_the_value_of_the_same_run():
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.Dataset.range(4).make_one_shot_iterator().get_next()
        given = tf.placeholder(tf.int64, [])
        result = given * 10 + element
        options = messages.CallableOptions(fetch=[result.name])
        options.tensor_connection.add(from_tensor=element.name, to_tensor=given.name)
        call = session._make_callable_from_options(options)
        assert [call()[0] for _ in range(4)] == [0, 11, 22, 33]
        with pytest.raises(tf.errors.OutOfRangeError):
            call()


def test_each_towers_placeholder_takes_the_value_of_its_own():
    towers = tf.contrib.distribute.MirroredStrategy(devices=["/device:CPU:0", "/device:CPU:1", "/device:CPU:2"])

    def tower():
        given = tf.placeholder(tf.float32, [None])
        return given, tf.reduce_sum(given) * 10

    with tf.Graph().as_default(), towers.scope(), tf.Session() as session:
        given, results = map(towers.unwrap, towers.call_for_each_tower(tower))
        data = tf.data.Dataset.range(6).map(lambda i: tf.cast(i, tf.float32)).batch(1)
        iterator = towers.distribute_dataset(lambda: data).make_initializable_iterator()
        elements = towers.unwrap(iterator.get_next())
        options = messages.CallableOptions(fetch=[r.name for r in results])
        for element, placeholder in zip(elements, given, strict=True):
            options.tensor_connection.add(from_tensor=element.name, to_tensor=placeholder.name)
        session.run(iterator.initializer)
        call = session._make_callable_from_options(options)
        assert [call(), call()] == [[0.0, 10.0, 20.0], [30.0, 40.0, 50.0]]


def test_gradients_go_through_a_connected_tensor():
    with tf.Graph().as_default(), tf.Session() as session:
        given, v = tf.placeholder(tf.float32, []), tf.Variable(3.0)
        slope, by_given = tf.gradients(v * v * given, [v, given])
        options = messages.CallableOptions(fetch=[slope.name, by_given.name])
        options.tensor_connection.add(from_tensor=tf.constant(2.0).name, to_tensor=given.name)
        session.run(v.initializer)
        assert session._make_callable_from_options(options)() == [12.0, 9.0]


def test_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, []), tf.constant(1)
        with pytest.raises(TypeError, match="Expected a CallableOptions"):
            session._make_callable_from_options({})
        with pytest.raises(UnsupportedError, match="feed_devices"):
            session._make_callable_from_options(messages.CallableOptions(feed_devices={x.name: "/gpu:0"}))
        options = messages.CallableOptions(fetch=[x.name])
        options.tensor_connection.add(from_tensor=y.name, to_tensor=x.name)
        with pytest.raises(ValueError, match="cannot take its value from"):
            session._make_callable_from_options(options)()


def test_devices_of_a_session():
    with tf.Graph().as_default(), tf.Session() as session:
        first = session.list_devices()[0]
        assert first.device_type == "CPU"
        assert first.name == "/job:localhost/replica:0/task:0/device:CPU:0"
