"""Writes keras_copies.json: what copies of models have under TensorFlow 2.15.1, in programs of 2.x and of 1.x."""

import json
import os
import sys

import keras_copies_cases as cases
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = os.path.join(HERE, "keras_copies.json")

if __name__ == "__main__":
    if sys.argv[1:] == ["1.x"]:  # in another process, as 2.x cannot be switched off later
        tf = tf.compat.v1
        tf.disable_v2_behavior()
        era = "1.x"
    else:
        era = "2.x"
    found = {}
    if os.path.exists(KEPT):
        with open(KEPT) as file:
            found = json.load(file)
    found[era] = {"-".join(map(str, case)): cases.found(tf, *case) for case in cases.CASES}
    for case, said in found[era].items():
        print(era, case, said)
    with open(KEPT, "w") as file:
        json.dump(found, file, sort_keys=True, separators=(",", ":"))
        file.write("\n")
