"""Adds a release to ``keras_releases.json``: losses by case. Run with TensorFlow 1.12, 1.15 and 2.15 each."""

import json
import os

import keras_releases_cases as cases
import tensorflow

if tensorflow.__version__.startswith("2"):
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    tf = tensorflow

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras_releases.json")

if __name__ == "__main__":
    found = {}
    if os.path.exists(FILE):
        with open(FILE) as file:
            found = json.load(file)
    release = tensorflow.__version__
    run = dict(cases.CASES, **(cases.EARLIER if release.startswith("1.12") else {}))
    found[release] = {}
    for name, case in sorted(run.items()):
        tf.keras.backend.clear_session()
        found[release][name] = case(tf)
    with open(FILE, "w") as file:
        json.dump(found, file, sort_keys=True, indent=1)
        file.write("\n")
