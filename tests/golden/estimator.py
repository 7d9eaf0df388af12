"""Writes estimator.json: what TensorFlow 1.12 makes of estimator_cases. Run it with the Python that has it."""

import json
import os
import shutil
import sys
import tempfile

import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import estimator_cases as cases


def found(program):
    folder = tempfile.mkdtemp()
    try:
        return program(tf, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "estimator.json")
    results = {program.__name__: found(program) for program in cases.PROGRAMS}
    results["refusals"] = cases.refusals(tf)
    results["batches"] = {name: cases.batches(tf, **each) for name, each in cases.INPUTS.items()}
    results["shuffled"] = cases.shuffled_rows(tf, batch_size=3, num_epochs=2)
    with open(where, "w") as stream:
        json.dump(results, stream, indent=0, sort_keys=True)
        stream.write("\n")
