"""Writes later.json: what TensorFlow 2.15 prints for the expressions of later_cases, or the type of its error.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/later.py``.
"""

import collections
import json
import os
import tempfile

import numpy as np
import tensorflow as tf
from later_cases import CASES, net


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


if __name__ == "__main__":
    found = {area: {case: printed(case) for case in cases} for area, cases in CASES.items()}
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "later.json")
    with open(where, "w") as stream:
        json.dump(found, stream, indent=0, sort_keys=True)
        stream.write("\n")
