"""Writes keras_custom.json and keras/custom/: models of 2.15.1 with what the program defines itself.

With a folder as its argument it writes nothing: it reads what ``python -m tests.compat.keras.saved_custom FOLDER``
saved there, and says how far predictions, and training that goes on, are from what was kept beside them.
"""

import json
import os
import sys

import keras_custom_cases as cases
import numpy as np
import tensorflow as tf
from goldens import files, make

RUNS = ["2.15"]


def distance(found, wanted):
    """How far what was found is from the same of what is wanted, 0 where both are one error."""
    if "error" in wanted or "error" in found:
        return 0.0 if found == wanted else np.inf
    return float(np.abs(flat(found) - flat({key: wanted[key] for key in found})).max())


def flat(found):
    """The numbers of what ``asked`` says."""
    return np.concatenate([np.ravel(found["predictions"]), *(v for _, v in sorted(found.get("then", {}).items()))])


def read(folder):
    """Reads what was written elsewhere; gives how many files are apart."""
    with open(os.path.join(folder, "asked.json")) as file:
        asked = json.load(file)
    far = 0
    for name, forms in asked.items():
        for form, wanted in forms.items():
            apart = distance(cases.loaded(tf, name, os.path.join(folder, name), form), wanted)
            far += not apart < 1e-5
            print(name, form, "apart:", apart)
    return far


def saved(name):
    place = files("keras", "custom", name)
    found = {"saved": cases.save(tf, name, place)}
    found["loaded"] = {form: cases.loaded(tf, name, place, form) for form in cases.forms(name)}
    for form, each in found["loaded"].items():
        apart = distance(each, found["saved"])
        assert apart < 1e-5, (name, form, "apart from training that was not stopped", apart)
    return found


def refused():
    place = files("keras", "custom", "named")
    cases.save(tf, "named", place)
    return cases.refused(tf, place)


if sys.argv[1:]:
    sys.exit(bool(read(sys.argv[1])))
make("keras_custom", dict({name: lambda n=name: saved(n) for name in cases.CASES}, refused=refused))
