# ruff: noqa: B905
"""Writes image_errors_1.json or image_errors_2.json: what errors the originals raise for image_errors_cases, if any.

Run it with the Python of 1.12 (each case with constants, and fed without shapes) and with that of 2.15 (eagerly):
``python tests/golden/image_errors.py``.
"""

import ast
import json
import os

import numpy as np
import tensorflow as tf
from image_errors_cases import CASES, INPUTS, LATER

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST = tf.__version__.startswith("1.")
TAKEN = "taken"


def used(text):
    return sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & set(INPUTS))


def outcome(text, make):
    print(text, flush=True)  # some cases end the process of the original: those are no cases
    try:
        make()
    except Exception as error:
        return type(error).__name__
    return TAKEN


def in_session(text, fed):
    names = used(text)
    with tf.Graph().as_default(), tf.Session() as session:
        constants = [tf.constant(INPUTS[n]) for n in names]
        tensors = [tf.placeholder(c.dtype) for c in constants] if fed else constants
        found = eval(text, {"tf": tf, "np": np}, dict(zip(names, tensors)))
        session.run(found, dict(zip(tensors, (INPUTS[n] for n in names))) if fed else {})


def eagerly(text):
    names = used(text)
    eval(text, {"tf": tf, "np": np}, {n: tf.constant(INPUTS[n]) for n in names})


if FIRST:
    found = {t: [outcome(t, lambda t=t, f=f: in_session(t, f)) for f in (False, True)] for t in CASES}
else:
    found = {t: outcome(t, lambda t=t: eagerly(t)) for t in LATER}
with open(os.path.join(HERE, "image_errors_%d.json" % (1 if FIRST else 2)), "w") as file:  # noqa: UP031
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
