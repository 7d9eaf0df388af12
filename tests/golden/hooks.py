"""Writes hooks.json: what the original does in hooks_cases.py."""

import importlib
import tempfile

import tensorflow as tf
from goldens import make
from hooks_cases import CASES, facts

RUNS = ["1.12"]


def inside(module, name):
    return getattr(importlib.import_module("tensorflow.python.training." + module), name)


def run(case):
    with tempfile.TemporaryDirectory() as folder:
        found = facts(tf, case, folder, inside)
    tf.summary.FileWriterCache.clear()
    return found


make("hooks", {case.__name__: lambda c=case: run(c) for case in CASES})
