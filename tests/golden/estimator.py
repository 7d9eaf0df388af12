"""Writes estimator.json: what TensorFlow 1.12 makes of estimator_cases."""

import tempfile

import estimator_cases as cases
import tensorflow as tf
from goldens import make

RUNS = ["1.12"]


def run(program):
    with tempfile.TemporaryDirectory() as folder:
        return program(tf, folder)


areas = {program.__name__: lambda p=program: run(p) for program in cases.PROGRAMS}
areas["refusals"] = lambda: cases.refusals(tf)
areas["batches"] = {name: lambda e=each: cases.batches(tf, **e) for name, each in cases.INPUTS.items()}
areas["shuffled"] = lambda: cases.shuffled_rows(tf, batch_size=3, num_epochs=2)
make("estimator", areas)
