"""Writes mirrored.json: what MirroredStrategy of the original does in the mirrored_*_cases modules.

Run it with the Python that has TensorFlow 1.12.3, with names of modules to write these alone:
``python tests/golden/mirrored.py``. It uses virtual devices of the CPU. A key is the case and the number of towers.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time

import tensorflow as tf
from mirrored_cases import collected, facts

MODULES = ["tower", "training", "value", "eager"]
WHERE = os.path.splitext(os.path.abspath(__file__))[0] + ".json"


def main(wanted):
    tf.logging.set_verbosity(tf.logging.ERROR)
    found = {}
    if wanted and os.path.exists(WHERE):
        with open(WHERE) as file:
            found = json.load(file)
    if "eager" in wanted:
        tf.enable_eager_execution(config=tf.ConfigProto(device_count={"CPU": 4}))
    for name in wanted or MODULES[:-1]:
        module, found[name] = importlib.import_module(f"mirrored_{name}_cases"), {}
        for case, (function, towers) in collected(module).items():
            for n in towers:
                began = time.time()
                with tempfile.TemporaryDirectory() as folder:
                    found[name][f"{case} {n}"] = facts(tf, function, n, folder, getattr(module, "NAMED", False), 60)
                if time.time() - began > 5:
                    print(case, n, "%.0f s" % (time.time() - began), flush=True)
    areas = []
    for name in sorted(found):
        lines = (f"{json.dumps(k)}:{json.dumps(v, sort_keys=True)}" for k, v in sorted(found[name].items()))
        areas.append('"{}":{{\n{}\n}}'.format(name, ",\n".join(lines)))
    with open(WHERE, "w") as file:
        file.write("{\n" + ",\n".join(areas) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
    if not sys.argv[1:]:  # eager execution is a process's own
        subprocess.check_call([sys.executable, os.path.abspath(__file__), "eager"])
    sys.stdout.flush()
    os._exit(0)
