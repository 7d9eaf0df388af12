"""Writes keras_saving.json and files in keras/: models that keras 2.15 under TensorFlow has trained and saved.

With a folder as its argument it writes nothing: it reads what towerstrat has saved there (``python -m
tests.compat.keras.saved FOLDER``), and says how far predictions of the models, and the losses of training that goes on,
are from those that towerstrat kept beside them.
"""

import json
import os
import sys

import keras_saving_cases as cases
import numpy as np
import tensorflow as tf
from goldens import files, make

RUNS = ["2.15"]


def apart(one, other):
    return max(float(np.max(np.abs(np.subtract(one[key], other[key])))) for key in one)


def compare(folder):
    with open(os.path.join(folder, "asked.json")) as file:
        asked = json.load(file)
    for case, wanted in asked.items():
        name, _, legacy = case.partition("-")
        found = cases.loaded(tf, name, os.path.join(folder, case), bool(legacy))
        print(case, {form: apart(value, wanted) for form, value in found.items()})


def saved(case):
    name, _, legacy = case.partition("-")
    return cases.save(tf, name, files("keras", case), bool(legacy))


if sys.argv[1:]:
    compare(sys.argv[1])
else:
    make("keras_saving", {c: lambda c=c: saved(c) for c in [*cases.MODELS, "mlp-legacy", "convolutions-legacy"]})
