"""Writes later_arguments.json: what TensorFlow 1.15 computes for calls with arguments that 1.12 did not have."""

import tempfile

import tensorflow as tf
from goldens import make
from later_arguments_cases import CASES, evaluated, write_files

RUNS = ["1.15"]

files = write_files(tempfile.mkdtemp())
make("later_arguments", {case: lambda case=case: evaluated(tf, case, files) for case in CASES})
