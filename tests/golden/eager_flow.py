"""Writes eager_flow.json: what each of the originals makes of the cases."""

import numpy as np
import tensorflow as tf
from eager_flow_cases import BOTH, LATER
from goldens import make

RUNS = ["1.12", "2.15"]


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in sorted(value.items())}
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind == "O":
        return {"dtype": "string", "value": [v.decode() for v in array.ravel()]}
    return {"dtype": array.dtype.name, "value": array.tolist()}


def run(case):
    try:
        return {"value": plain(case(tf))}
    except Exception as error:
        return {"error": type(error).__name__}


if tf.__version__.startswith("2"):
    make("eager_flow", {"2.15": {name: lambda c=case: run(c) for name, case in {**BOTH, **LATER}.items()}})
else:
    tf.enable_eager_execution()
    make("eager_flow", {"1.12": {name: lambda c=case: run(c) for name, case in BOTH.items()}})
