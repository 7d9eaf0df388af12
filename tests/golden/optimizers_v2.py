"""Writes optimizers_v2.json: what the original does in optimizers_v2_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/optimizers_v2.py``. It starts itself again for
the cases that run eagerly.
"""

import json
import os
import subprocess
import sys

import optimizers_v2_cases as cases
import tensorflow as tf
from tensorflow.python.training import learning_rate_decay_v2

CPUS = ["/device:CPU:0", "/device:CPU:1"]


def found(names):
    # Devices that prefetch take elements in the order in which they come by.
    side = cases.Side(
        tf,
        learning_rate_decay_v2,
        lambda: tf.contrib.distribute.MirroredStrategy(devices=CPUS, prefetch_on_device=False),
        tf.ConfigProto(device_count={"CPU": 2}),
    )
    return {name: cases.run(side, name) for name in names}


def main():
    # The number of a process's devices is decided by its first session.
    tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})).close()
    values = found([name for name in cases.CASES if name not in cases.EAGER])
    values.update(json.loads(subprocess.check_output([sys.executable, __file__, "eager"]).decode().splitlines()[-1]))
    path = os.path.splitext(os.path.abspath(__file__))[0] + ".json"
    with open(path, "w") as file:
        json.dump(values, file, indent=1, sort_keys=True)
    print(len(values), "cases")


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.ERROR)
    if sys.argv[1:] == ["eager"]:
        tf.enable_eager_execution()
        print(json.dumps(found(sorted(cases.EAGER))))
    else:
        main()
