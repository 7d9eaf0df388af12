# ruff: noqa: B905
"""Writes images_1.npz and images_2.npz: what the originals make of images_cases; 1.12 of images_files.json too."""

import ast
import base64

import numpy as np
import tensorflow as tf
from goldens import LEFT_OUT, Both, facts, make
from images_cases import CASES, FILES, INPUTS, LATER

RUNS = ["1.12", "2.15"]


def used(text):
    return sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} & set(INPUTS))


def seed(value):
    return np.cos(np.arange(value.size)).reshape(value.shape).astype(value.dtype)


def flat(found):
    return list(found) if isinstance(found, (list, tuple)) else [found]


def in_session(text, names):
    """(values, slopes) of one expression by 1.12."""
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [tf.constant(INPUTS[n]) for n in names]
        outputs = flat(eval(text, {"tf": tf, "np": np}, dict(zip(names, tensors))))
        values = session.run(outputs)
        pairs = [(o, v) for o, v in zip(outputs, values) if o.dtype.is_floating]
        sources = [t for t in tensors if t.dtype.is_floating]
        if not pairs or not sources:
            return values, []
        try:
            slopes = tf.gradients([o for o, _ in pairs], sources, [tf.constant(seed(v)) for _, v in pairs])
        except (LookupError, ValueError) as error:  # no gradient, or one that the original gets wrong
            return values, type(error).__name__
        return values, [None if s is None else session.run(tf.convert_to_tensor(s)) for s in slopes]


def eagerly(text, names):
    """(values, slopes) of one expression by 2.15."""
    tensors = [tf.constant(INPUTS[n]) for n in names]
    sources = [t for t in tensors if t.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        outputs = flat(eval(text, {"tf": tf, "np": np}, dict(zip(names, tensors))))
    values = [o.numpy() for o in outputs]
    pairs = [(o, v) for o, v in zip(outputs, values) if o.dtype.is_floating]
    try:
        slopes = tape.gradient([o for o, _ in pairs], sources, [tf.constant(seed(v)) for _, v in pairs])
    except (LookupError, ValueError) as error:
        return values, type(error).__name__
    return values, [None if s is None else tf.convert_to_tensor(s).numpy() for s in slopes]


def differentiated(run, text):
    values, slopes = run(text, used(text))
    found = {f"value{i}": value for i, value in enumerate(values)}
    if isinstance(slopes, str):
        found["refused"] = np.array(slopes)
    else:
        found.update((f"slope{i}", slope) for i, slope in enumerate(slopes) if slope is not None)
    return Both(LEFT_OUT, found)


def decoded(data):
    found = {}
    for text in FILES:
        try:
            with tf.Graph().as_default(), tf.Session() as session:
                found[text] = session.run(eval(text, {"tf": tf, "file": tf.constant(data)}))
        except Exception as error:
            found[text] = np.array(type(error).__name__)
    return Both(LEFT_OUT, found)


if tf.__version__.startswith("1."):
    cases = {text: lambda t=text: differentiated(in_session, t) for text in CASES}
    files = facts("images_files")
    cases.update((name, lambda d=data: decoded(base64.b64decode(d))) for name, data in files.items())
    make("images_1", cases)
else:
    make("images_2", {text: lambda t=text: differentiated(eagerly, t) for text in LATER})
