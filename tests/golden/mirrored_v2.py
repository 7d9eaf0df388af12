"""Writes mirrored_v2.json: what MirroredStrategy of TensorFlow 2.15 does in mirrored_v2_cases.py.

A key is the case and the number of replicas; these are virtual devices of the CPU.
"""

import tensorflow as tf
from goldens import make, timely
from mirrored_v2_cases import World, collected, outcome

RUNS = ["2.15"]


def run(case, n):
    """A case has five minutes: at times the original waits for ever."""
    return timely(lambda: outcome(lambda: case(World(tf, n))), 300)


tf.get_logger().setLevel("ERROR")
tf.config.threading.set_inter_op_parallelism_threads(32)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 8)
cases = [(name, case, n) for name, (case, replicas) in collected().items() for n in replicas]
make("mirrored_v2", {f"{name} {n}": lambda c=case, n=n: run(c, n) for name, case, n in cases})
