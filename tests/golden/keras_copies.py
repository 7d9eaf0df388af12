"""Writes keras_copies.json: what copies of models have under TensorFlow 2.15.1, in programs of 2.x and of 1.x."""

import sys

import keras_copies_cases as cases
import tensorflow as tf
from goldens import make

RUNS = ["2.15 1.x", "2.15 2.x"]

[era] = sys.argv[1:]
if era == "1.x":
    tf = tf.compat.v1
    tf.disable_v2_behavior()
make("keras_copies", {era: {"-".join(map(str, case)): lambda c=case: cases.found(tf, *c) for case in cases.CASES}})
