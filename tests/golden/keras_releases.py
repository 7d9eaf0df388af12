"""Writes keras_releases.json: losses by release and case."""

import keras_releases_cases as cases
import tensorflow as tf
from goldens import make

RUNS = ["1.12", "1.15", "2.15"]
RELEASE = tf.__version__
if RELEASE.startswith("2"):
    tf = tf.compat.v1
    tf.disable_v2_behavior()


def run(case):
    tf.keras.backend.clear_session()
    return case(tf)


chosen = dict(cases.CASES, **(cases.EARLIER if RELEASE.startswith("1.12") else {}))
make("keras_releases", {RELEASE: {name: lambda c=case: run(c) for name, case in sorted(chosen.items())}})
