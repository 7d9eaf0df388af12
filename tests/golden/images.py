# ruff: noqa: B905, UP031
"""Writes images_1.npz or images_2.npz: what the originals make of images_cases, and of the files in images_files.json.

Run it with the Python of 1.12 and with that of 2.15: ``python tests/golden/images.py``.
"""

import ast
import base64
import json
import os

import numpy as np
import tensorflow as tf
from images_cases import CASES, FILES, INPUTS, LATER, packed

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST = tf.__version__.startswith("1.")
STORED = {}


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


def differentiated(text):
    values, slopes = (in_session if FIRST else eagerly)(text, used(text))
    for i, value in enumerate(values):
        STORED["%s/value%d" % (text, i)] = value
    if isinstance(slopes, str):
        STORED[text + "/refused"] = np.array(slopes)
    else:
        for i, slope in enumerate(slopes):
            if slope is not None:
                STORED["%s/slope%d" % (text, i)] = slope


def decoded(text, name, data):
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            STORED["%s/%s" % (name, text)] = session.run(eval(text, {"tf": tf, "file": tf.constant(data)}))
    except Exception as error:
        STORED["%s/%s" % (name, text)] = np.array(type(error).__name__)


def main():
    for text in CASES if FIRST else LATER:
        differentiated(text)
    if FIRST:
        with open(os.path.join(HERE, "images_files.json")) as file:
            files = json.load(file)
        for name, data in sorted(files.items()):
            for text in FILES:
                decoded(text, name, base64.b64decode(data))
    np.savez_compressed(os.path.join(HERE, "images_%d.npz" % (1 if FIRST else 2)), **packed(STORED))
    print(len(STORED), "arrays")


main()
