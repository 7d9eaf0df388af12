"""Files of models by the original, 1.12.3, and what it reads of them.

It wants ``h5py`` before 3: with later ones 1.12 reads no whole models. ``FOLDER`` can be read by 2.15.1 as well.

``keras_files.py``           writes keras/1.12/ and keras_files.json; ``--only=NAME`` leaves the other cases as they are
``keras_files.py FOLDER``    reads what ``python -m tests.compat.keras.saved_v1 FOLDER`` saved there, and says how far
                             predictions and losses of training that goes on are from those that were kept beside them
"""

import json
import os
import shutil
import sys
import traceback

import keras_files_cases as cases
import numpy as np
import tensorflow

tf = tensorflow.compat.v1 if tensorflow.__version__.startswith("2") else tensorflow
HERE = os.path.dirname(os.path.abspath(__file__))


def flat(found):
    """The numbers of what ``asked`` says."""
    return np.concatenate([np.ravel(found["predictions"]), found["then"]["losses"]])


def write(folder, names):
    """Trains, saves and reads models."""
    found = {}
    for name in names:
        place = os.path.join(folder, name)
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        found[name] = {"saved": cases.save(tf, name, place)}
        found[name]["loaded"] = cases.loaded(tf, name, place)
        for form, each in found[name]["loaded"].items():
            print(
                name,
                form,
                "apart from training that was not stopped:",
                np.abs(flat(each) - flat(found[name]["saved"])).max(),
            )
    return found


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


if __name__ == "__main__":
    if tensorflow.__version__.startswith("2"):
        tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    only = [each[len("--only=") :] for each in sys.argv[1:] if each.startswith("--only=")]
    if len(sys.argv) > 1 and not only:
        sys.exit(bool(read(sys.argv[1])))
    kept = os.path.join(HERE, "keras_files.json")
    found = {}
    if only:
        with open(kept) as file:
            found = json.load(file)
    found.update(write(os.path.join(HERE, "keras", "1.12"), only or list(cases.CASES)))
    with open(kept, "w") as file:
        json.dump(found, file, sort_keys=True, separators=(",", ":"))
        file.write("\n")
