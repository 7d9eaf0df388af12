"""Writes keras_files.json and keras/1.12/: files of models by the original, 1.12.3, and what it reads of them.

It wants ``h5py`` before 3: with later ones 1.12 reads no whole models. With a folder as its argument it writes nothing:
it reads what ``python -m tests.compat.keras.saved_v1 FOLDER`` saved there, and says how far predictions and losses of
training that goes on are from those that were kept beside them. 2.15.1 can do that as well.
"""

import json
import os
import sys
import traceback

import keras_files_cases as cases
import numpy as np
import tensorflow
from goldens import files, make

RUNS = ["1.12"]
tf = tensorflow.compat.v1 if tensorflow.__version__.startswith("2") else tensorflow


def flat(found):
    """The numbers of what ``asked`` says."""
    return np.concatenate([np.ravel(found["predictions"]), found["then"]["losses"]])


def saved(name):
    """What of a model was saved, and read again."""
    place = files("keras", "1.12", name)
    return {"saved": cases.save(tf, name, place), "loaded": cases.loaded(tf, name, place)}


def states_are_read(name, form):
    """Whether the state of the optimizer is: in ``save_weights("NAME")``, 1.12 has it of those of tf.train alone."""
    kept_by_tf = name.startswith("tf_") or name == "subclassed"
    return form != "weights" or kept_by_tf or tensorflow.__version__.startswith("2")


def read(folder):
    """Reads what was written elsewhere."""
    with open(os.path.join(folder, "asked.json")) as file:
        asked = json.load(file)
    far = 0
    for name, forms in asked.items():
        for form, wanted in forms.items():
            try:
                found = cases.asked(cases.load(tf, name, os.path.join(folder, name), form), name)
                take = flat if states_are_read(name, form) else lambda each: np.ravel(each["predictions"])
                apart = np.abs(take(found) - take(wanted)).max()
            except Exception as error:
                if "--trace" in sys.argv:
                    traceback.print_exc()
                print(name, form, type(error).__name__, str(error)[:300])
                far += 1
            else:
                far += not apart < 1e-5
                print(name, form, "apart:", float(apart))
    print("apart or unread:", far)
    return far


if tensorflow.__version__.startswith("2"):
    tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
if sys.argv[1:]:
    sys.exit(bool(read(sys.argv[1])))
make("keras_files", {name: lambda n=name: saved(n) for name in cases.CASES})
