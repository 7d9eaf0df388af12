"""Writes keras_fit.json: ``fit`` under the original's MirroredStrategy on CPUs.

Each number of replicas has a process of its own: the original's collectives know one set of devices.
"""

import sys

import keras_fit_cases as cases
import tensorflow as tf
from goldens import make

RUNS = ["2.15 1", "2.15 2", "2.15 3", "2.15 8"]

replicas = int(sys.argv[1])
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * replicas)
strategy = tf.distribute.get_strategy()
if replicas > 1:
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])
areas = {
    "losses": {name: lambda n=name: cases.losses(tf, strategy, n) for name in cases.MODELS},
    "lengths": {str(n): lambda n=n: cases.of_length(tf, strategy, n) for n in cases.LENGTHS},
}
make("keras_fit", {str(replicas): areas})
