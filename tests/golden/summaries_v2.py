"""Writes summaries_v2.json: what 2.15 writes in the cases of summaries_v2_cases."""

import tempfile

import tensorflow as tf
from goldens import make
from summaries_v2_cases import CASES, outcome

RUNS = ["2.15"]


def run(name):
    with tempfile.TemporaryDirectory() as folder:
        return outcome(tf, name, folder, lambda png: tf.image.decode_png(png).numpy())


make("summaries_v2", {name: lambda n=name: run(n) for name in CASES})
