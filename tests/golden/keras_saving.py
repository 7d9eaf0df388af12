"""Writes keras_saving.json and the files in keras/: models that keras 2.15 under TensorFlow has trained and saved.

Run it with the Python that has TensorFlow 2.15. With a folder as its argument it writes nothing: it reads what
towerstrat has saved there (``python -m tests.compat.keras.saved FOLDER``), and says how far predictions of the models,
and the losses of training that goes on, are from those that towerstrat kept beside them.
"""

import json
import os
import shutil
import sys

import keras_saving_cases as cases
import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))


def apart(one, other):
    return max(float(np.max(np.abs(np.subtract(one[key], other[key])))) for key in one)


if sys.argv[1:]:
    folder = sys.argv[1]
    with open(os.path.join(folder, "asked.json")) as file:
        asked = json.load(file)
    for case, wanted in asked.items():
        name, _, legacy = case.partition("-")
        found = cases.loaded(tf, name, os.path.join(folder, case), bool(legacy))
        print(case, {form: apart(value, wanted) for form, value in found.items()})
else:
    files = os.path.join(HERE, "keras")
    asked = {}
    for case in [*cases.MODELS, "mlp-legacy", "convolutions-legacy"]:
        name, _, legacy = case.partition("-")
        shutil.rmtree(os.path.join(files, case), ignore_errors=True)  # that one alone: keras/1.12 is another script's
        os.makedirs(os.path.join(files, case))
        asked[case] = cases.save(tf, name, os.path.join(files, case), bool(legacy))
        print(case, asked[case]["losses"])
    with open(os.path.join(HERE, "keras_saving.json"), "w") as file:
        json.dump(asked, file, sort_keys=True, separators=(",", ":"))
        file.write("\n")
