"""Writes keras_parts.json: what keras 2.15 makes of the cases of keras_parts_cases.py."""

import tensorflow as tf
from goldens import make
from keras_parts_cases import GROUPS, run

RUNS = ["2.15"]


def outcome(group, name):
    facts, values = run(tf, group, name)
    return [facts, [[str(v.dtype), v.tolist()] for v in values]]


cases = [(group, name) for group, cases in GROUPS.items() for name in cases]
make("keras_parts", {f"{group}/{name}": lambda g=group, n=name: outcome(g, n) for group, name in cases})
