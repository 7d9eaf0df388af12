"""Writes ``keras_fit.json``: ``fit`` under the original's MirroredStrategy on CPUs. Wants TensorFlow 2.15.

Each number of replicas runs in a process of its own: the original's collectives know one set of devices.
"""

import json
import os
import subprocess
import sys

import keras_fit_cases as cases

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_fit.json")


def results(replicas):
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * replicas)
    strategy = tf.distribute.get_strategy()
    if replicas > 1:
        strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
    return {
        "losses": {name: cases.losses(tf, strategy, name) for name in cases.MODELS},
        "lengths": {str(length): cases.of_length(tf, strategy, length) for length in cases.LENGTHS},
    }


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(results(int(sys.argv[1]))))
    else:
        own = [sys.executable, os.path.abspath(__file__)]
        found = {str(n): json.loads(subprocess.check_output([*own, str(n)])) for n in cases.REPLICAS}
        with open(FILE, "w") as file:
            json.dump(found, file, sort_keys=True)
            file.write("\n")
