"""Writes summaries_contrib.json: what 1.12 writes in the cases of summaries_contrib_cases."""

import tempfile

import tensorflow as tf
from goldens import make
from summaries_contrib_cases import CASES, events, suffixes

RUNS = ["1.12"]


def run(case):
    with tempfile.TemporaryDirectory() as folder:
        returned = case(tf, folder)
        return [returned, events(tf, folder), suffixes(folder)]


tf.enable_eager_execution()
make("summaries_contrib", {name: lambda c=case: run(c) for name, case in CASES.items()})
