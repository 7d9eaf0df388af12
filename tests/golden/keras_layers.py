"""Writes keras_layers.json and keras_layers.npz: what keras 2.15 makes of the cases of keras_layers_cases.py."""

import tensorflow as tf
from goldens import Both, make
from keras_layers_cases import CASES, described, run

RUNS = ["2.15"]


def in_function(case):
    """The name of the error that the layer raises in a function, or ''."""
    try:
        run(tf, case, "function")
    except Exception as error:
        return type(error).__name__
    return ""


def outcome(case):
    found, values = run(tf, case)
    if case.functional:
        found["symbolic"] = run(tf, case, "functional")[0]["symbolic"]
    found["in function"] = in_function(case)
    arrays = {key: value if value.dtype != object else value.astype("S") for key, value in values.items()}
    return Both(found | described(tf, case), arrays)


make("keras_layers", {name: lambda c=case: outcome(c) for name, case in CASES.items()})
