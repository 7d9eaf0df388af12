"""Calls of functions on images that the originals refuse: the same class of error, in sessions and eagerly."""

import ast
import builtins
import json
from pathlib import Path

import numpy as np

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.golden.image_errors_cases import CASES, INPUTS, LATER
from tests.spread import spread
from towerstrat.graph.eager.mode import eager_mode

FOLDER = Path(__file__).parents[3] / "golden"
GOLDEN, GOLDEN_LATER = (json.loads((FOLDER / f"image_errors_{i}.json").read_text()) for i in (1, 2))
TAKEN = "taken"


def used(text):
    return sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & INPUTS.keys())


def outcome(make, wanted):
    """``wanted`` where that is what happens, else what happens."""
    try:
        make()
    except Exception as error:
        kind = getattr(tf.errors, wanted, None) or getattr(builtins, wanted, ())
        return wanted if isinstance(error, kind) else f"{type(error).__name__}: {error}"
    return TAKEN


def in_session(text, fed):
    names = used(text)
    with tf.Graph().as_default(), tf.Session() as session:
        constants = [tf.constant(INPUTS[n]) for n in names]
        tensors = [tf.placeholder(c.dtype) for c in constants] if fed else constants
        found = eval(text, {"tf": tf, "np": np, **dict(zip(names, tensors, strict=True))})
        session.run(found, dict(zip(tensors, (INPUTS[n] for n in names), strict=True)) if fed else {})


def eagerly(text):
    with eager_mode():
        eval(text, {"tf": tf2, "np": np, **{n: tf2.constant(INPUTS[n]) for n in used(text)}})
