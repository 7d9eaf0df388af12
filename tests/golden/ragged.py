"""Writes ragged.json: what the original makes of the cases of ragged_cases.py."""

import tensorflow as tf
from goldens import make
from ragged_cases import CASES, decoded, evaluated, plain

RUNS = ["2.15"]


def outcome(case):
    try:
        return decoded(plain(evaluated(tf, case)))
    except Exception as error:
        return "raises " + type(error).__name__


make("ragged", {case: lambda c=case: outcome(c) for case in CASES})
