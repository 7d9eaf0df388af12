"""Writes ragged.json: what the original makes of the cases of ragged_cases.py.

Run it with the Python that has TensorFlow 2.15: ``python tests/golden/ragged.py``.
"""

import json
import os

import tensorflow as tf
from ragged_cases import CASES, decoded, evaluated, plain


def outcome(case):
    try:
        return decoded(plain(evaluated(tf, case)))
    except Exception as error:
        return "raises " + type(error).__name__


with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump({case: outcome(case) for case in CASES}, file, indent=0, sort_keys=True)
    file.write("\n")
