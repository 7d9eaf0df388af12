"""Writes keras_layers.json and keras_layers.npz: what keras 2.15 makes of the cases of keras_layers_cases.py.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/keras_layers.py``.
"""

import json
import os

import numpy as np
import tensorflow as tf
from keras_layers_cases import CASES, described, run


def in_function(case):
    """The name of the error that the layer raises in a function, or ''."""
    try:
        run(tf, case, "function")
    except Exception as error:
        return type(error).__name__
    return ""


facts, arrays = {}, {}
for name, case in CASES.items():
    try:
        found, values = run(tf, case)
        if case.functional:
            found["symbolic"] = run(tf, case, "functional")[0]["symbolic"]
        found["in function"] = in_function(case)
        facts[name] = found | described(tf, case)
    except Exception as error:
        raise RuntimeError(name) from error
    arrays.update({f"{name}:{key}": value for key, value in values.items()})
base = os.path.splitext(os.path.abspath(__file__))[0]
with open(base + ".json", "w") as file:
    json.dump(facts, file, sort_keys=True, separators=(",", ":"))
    file.write("\n")
np.savez_compressed(base + ".npz", **{k: v if v.dtype != object else v.astype("S") for k, v in arrays.items()})
print(len(facts), "cases")
