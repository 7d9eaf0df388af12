# ruff: noqa: B905
"""Writes image_errors_1.json and image_errors_2.json: what errors the originals raise for image_errors_cases, if any.

1.12 is given each case with constants, and fed without shapes; 2.15 eagerly.
"""

import ast

import numpy as np
import tensorflow as tf
from goldens import make
from image_errors_cases import CASES, INPUTS, LATER

RUNS = ["1.12", "2.15"]
TAKEN = "taken"


def used(text):
    return sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & set(INPUTS))


def outcome(text, run):
    print(text, flush=True)  # some cases end the process of the original: those are no cases
    try:
        run()
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


if tf.__version__.startswith("1."):
    both = {t: lambda t=t: [outcome(t, lambda f=f: in_session(t, f)) for f in (False, True)] for t in CASES}
    make("image_errors_1", both)
else:
    make("image_errors_2", {t: lambda t=t: outcome(t, lambda: eagerly(t)) for t in LATER})
