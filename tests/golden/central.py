"""Runs the cases of strategies whose variables are kept once on the originals: ``central.json``.

The first original is asked for towers, the later one for replicas; each run keeps what the other wrote:

    $(scripts/oracle) tests/golden/central.py
    $(scripts/oracle --later) tests/golden/central.py
"""

import json
import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf
from central_cases import replicas, towers

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "central.json")


def parameter_server():
    """The strategy of 1.12 for two GPUs, on CPUs."""
    from tensorflow.python.training import device_util

    made = tf.contrib.distribute.ParameterServerStrategy(2)
    made._compute_devices = [device_util.resolve(f"/device:CPU:{i}") for i in range(2)]
    made._canonical_compute_device_set = set(made._compute_devices)
    return made


def main():
    found = {}
    if os.path.exists(PATH):
        with open(PATH) as file:
            found = json.load(file)
    if tf.__version__.startswith("1."):
        found["towers"] = towers(tf, parameter_server)
    else:
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        central = tf.distribute.experimental.CentralStorageStrategy
        found["replicas"] = replicas(tf, lambda: central(["/cpu:0", "/cpu:1"], "/cpu:0"))
    with open(PATH, "w") as file:
        json.dump(found, file, indent=1, sort_keys=True)
        file.write("\n")


main()
