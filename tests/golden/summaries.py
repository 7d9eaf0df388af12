"""Writes summaries.json: the summaries that 1.12 makes of summaries_cases."""

import tensorflow as tf
from goldens import make
from summaries_cases import CASES, outcome

RUNS = ["1.12"]


def pixels(png):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.decode_png(png))


make("summaries", {case: lambda c=case: outcome(tf, c, pixels) for case in CASES})
