"""Writes strings_1.json or strings_2.json: what the original makes of the cases of strings_cases and lookup_cases.

Run it with the Python of 1.12 and with that of 2.15: ``python tests/golden/strings.py``.
"""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf
from lookup_cases import CASES as TABLES
from strings_cases import CASES, LATER, REALS, plain

first = tf.__version__.startswith("1.")


def outcome(make):
    try:
        return plain(make())
    except Exception as error:
        return "raises " + type(error).__name__


def evaluated(case):
    return eval(case, {"tf": tf, "np": np, "REALS": REALS})


def in_session(program):
    with tf.Graph().as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        return program(tf, session, folder)


if first:
    programs = dict(TABLES)
    programs.update((case, lambda tf, session, folder, c=case: session.run(evaluated(c))) for case in CASES)
    found = {name: outcome(lambda p=program: in_session(p)) for name, program in programs.items()}
else:
    found = {case: outcome(lambda c=case: evaluated(c)) for case in LATER}
where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "strings_1.json" if first else "strings_2.json")
with open(where, "w") as file:
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
