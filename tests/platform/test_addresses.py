"""Names of devices that this machine does not have mean those that it has, which is said once."""

from types import SimpleNamespace

import jax
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.graph.eager import mode
from towerstrat.platform import addresses


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.setattr(addresses, "_said", False)


def run_twice(device):
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device(device):
            one = tf.constant([1.0, 2.0])
            total = tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [tf.reduce_sum(one) - 3.0])
        assert session.run(total) == session.run([total])[0] == 3.0


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("/gpu:0", "/device:GPU:0"),
        ("/device:GPU:1", "/device:GPU:1"),
        ("gpu", "/device:GPU:0"),
        ("/job:worker/task:1/device:gpu:3", "/job:worker/task:1/device:GPU:3"),
        ("/device:TPU:0", "/device:TPU:0"),
        (lambda op: "/gpu:0" if op.type == "Const" else "", "/gpu:0"),
    ],
)
def test_an_accelerator_that_is_not_here_is_said_once(device, name, caplog):
    run_twice(device)
    run_twice(device)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"tf.device({name!r}): a program runs on the devices of this machine;")


@pytest.mark.parametrize("device", [None, "/cpu:0", "/device:CPU:1", "/job:worker/task:0", lambda op: None])
def test_other_names_say_nothing(device, caplog):
    run_twice(device)
    assert caplog.records == []


def test_an_accelerator_that_is_here_is_not_said(monkeypatch, caplog):
    monkeypatch.setattr(jax, "local_devices", lambda: [SimpleNamespace(platform="gpu")] * 2)
    addresses.take_for_here(["", "/device:GPU:0", "/gpu:1", "/device:CPU:0"])
    assert caplog.records == []
    addresses.take_for_here(["/device:GPU:2"])
    assert "tf.device('/device:GPU:2')" in caplog.text


def test_eagerly_and_in_functions(caplog):
    with mode.eager_mode():
        with tf.device("/gpu:0"):
            assert float(tf.constant(1.0) + 1.0) == 2.0
        assert "tf.device('/device:GPU:0')" in caplog.text
        with pytest.raises(RuntimeError, match="does not support functions when eager"), tf.device(lambda op: "/gpu:0"):
            pass
        with pytest.raises(ValueError, match="Expected a device name"), tf.device("somewhere"):
            pass


def test_in_a_function(caplog):
    with mode.eager_mode():

        @tf.function
        def double(x):
            with tf.device("/gpu:1"):
                return x + x

        assert float(double(tf.constant(2.0))) == 4.0
    assert "tf.device('/device:GPU:1')" in caplog.text


def test_of_a_strategy(caplog):
    with mode.eager_mode(), tf.distribute.OneDeviceStrategy("/gpu:0").scope():
        assert float(tf.Variable(1.0) + 1.0) == 2.0
    assert "tf.device('/device:GPU:0')" in caplog.text
