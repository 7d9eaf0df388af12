"""Writes later.json: what TensorFlow 2.15 prints for the expressions of later_cases, or the type of its error."""

import collections
import os
import tempfile

import numpy as np
import tensorflow as tf
from goldens import make
from later_cases import CASES, net

RUNS = ["2.15"]


def printing(tf):
    """``tf.print`` as a function that returns what it prints."""

    def text(*args, **kwargs):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out")
            tf.print(*args, output_stream=f"file://{path}", **kwargs)
            with open(path) as stream:
                return stream.read()

    return text


def printed(expression):
    try:
        return repr(eval(expression, {"tf": tf, "np": np, "cs": collections, "net": net, "printed": printing(tf)}))
    except Exception as error:
        return f"raises {type(error).__name__}"


make("later", {area: {case: lambda c=case: printed(c) for case in cases} for area, cases in CASES.items()})
