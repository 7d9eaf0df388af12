"""Writes mirrored.json: what MirroredStrategy of the original does in the mirrored_*_cases modules.

It uses virtual devices of the CPU. A key is the case and the number of towers.
"""

import importlib
import sys
import tempfile

import tensorflow as tf
from goldens import make
from mirrored_cases import collected, facts

RUNS = ["1.12 tower training value", "1.12 eager"]


def run(module, case, towers):
    with tempfile.TemporaryDirectory() as folder:
        return facts(tf, case, towers, folder, getattr(module, "NAMED", False), 60)


tf.logging.set_verbosity(tf.logging.ERROR)
if "eager" in sys.argv:
    tf.enable_eager_execution(config=tf.ConfigProto(device_count={"CPU": 4}))
areas = {}
for name in sys.argv[1:]:
    module, areas[name] = importlib.import_module(f"mirrored_{name}_cases"), {}
    for case, (function, towers) in collected(module).items():
        areas[name].update((f"{case} {n}", lambda m=module, f=function, n=n: run(m, f, n)) for n in towers)
make("mirrored", areas)
