"""Writes monitored.json: what the original does in monitored_cases.py."""

import logging
import tempfile

import monitored_cases
import tensorflow as tf
from goldens import make

RUNS = ["1.12"]


def run(case):
    with tempfile.TemporaryDirectory() as folder:
        return monitored_cases.run(tf, case, folder)


logging.getLogger("tensorflow").propagate = False
make("monitored", {case.__name__: lambda c=case: run(c) for case in monitored_cases.CASES})
