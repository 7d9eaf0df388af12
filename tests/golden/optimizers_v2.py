"""Writes optimizers_v2.json: what the original does in optimizers_v2_cases.py, in graphs and eagerly."""

import sys

import optimizers_v2_cases as cases
import tensorflow as tf
from goldens import make
from tensorflow.python.training import learning_rate_decay_v2

RUNS = ["1.12", "1.12 eager"]
CPUS = ["/device:CPU:0", "/device:CPU:1"]

tf.logging.set_verbosity(tf.logging.ERROR)
if sys.argv[1:]:
    tf.enable_eager_execution()
else:  # the number of a process's devices is decided by its first session
    tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})).close()
# Devices that prefetch take elements in the order in which they come by.
side = cases.Side(
    tf,
    learning_rate_decay_v2,
    lambda: tf.contrib.distribute.MirroredStrategy(devices=CPUS, prefetch_on_device=False),
    tf.ConfigProto(device_count={"CPU": 2}),
)
names = [name for name in cases.CASES if (name in cases.EAGER) == bool(sys.argv[1:])]
make("optimizers_v2", {name: lambda n=name: cases.run(side, n) for name in names})
