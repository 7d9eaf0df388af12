"""Writes mirrored_v2.json: what MirroredStrategy of TensorFlow 2.15 does in mirrored_v2_cases.py.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/mirrored_v2.py``. A key is the case and the
number of replicas; these are virtual devices of the CPU.
"""

import json
import os
import sys
import threading

import tensorflow as tf
from mirrored_v2_cases import World, collected, outcome


def timely(make):
    """A case has five minutes: at times the original waits for ever."""
    found = []
    thread = threading.Thread(target=lambda: found.append(outcome(make)), daemon=True)
    thread.start()
    thread.join(300)
    return found[0] if found else {"hangs": True}


if __name__ == "__main__":
    tf.get_logger().setLevel("ERROR")
    tf.config.threading.set_inter_op_parallelism_threads(32)
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 8)
    lines = []
    for name, (case, replicas) in collected().items():
        for n in replicas:
            found = timely(lambda case=case, n=n: case(World(tf, n)))
            lines.append(f"{json.dumps(f'{name} {n}')}:{json.dumps(found, sort_keys=True)}")
    with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.flush()
    os._exit(0)
