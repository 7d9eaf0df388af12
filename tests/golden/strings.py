"""Writes strings_1.json and strings_2.json: what the originals make of the cases of strings_cases and lookup_cases."""

import tempfile

import numpy as np
import tensorflow as tf
from goldens import make
from lookup_cases import CASES as TABLES
from strings_cases import CASES, LATER, REALS, plain

RUNS = ["1.12", "2.15"]


def outcome(run):
    try:
        return plain(run())
    except Exception as error:
        return "raises " + type(error).__name__


def evaluated(case):
    return eval(case, {"tf": tf, "np": np, "REALS": REALS})


def in_session(program):
    with tf.Graph().as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        return program(tf, session, folder)


if tf.__version__.startswith("1."):
    programs = dict(TABLES)
    programs.update((case, lambda tf, session, folder, c=case: session.run(evaluated(c))) for case in CASES)
    make("strings_1", {name: lambda p=program: outcome(lambda: in_session(p)) for name, program in programs.items()})
else:
    make("strings_2", {case: lambda c=case: outcome(lambda: evaluated(c)) for case in LATER})
