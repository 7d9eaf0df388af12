"""Writes central.json: strategies whose variables are kept once. 1.12 is asked for towers, 2.15 for replicas."""

import tensorflow as tf
from central_cases import replicas, towers
from goldens import make

RUNS = ["1.12", "2.15"]


def parameter_server():
    """The strategy of 1.12 for two GPUs, on CPUs."""
    from tensorflow.python.training import device_util

    made = tf.contrib.distribute.ParameterServerStrategy(2)
    made._compute_devices = [device_util.resolve(f"/device:CPU:{i}") for i in range(2)]
    made._canonical_compute_device_set = set(made._compute_devices)
    return made


if tf.__version__.startswith("1."):
    make("central", {"towers": lambda: towers(tf, parameter_server)})
else:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    central = tf.distribute.experimental.CentralStorageStrategy
    make("central", {"replicas": lambda: replicas(tf, lambda: central(["/cpu:0", "/cpu:1"], "/cpu:0"))})
