"""Writes data_v2.json: what the original makes of the datasets in data_v2_cases.py."""

import tensorflow as tf
from data_v2_cases import CASES, outcome
from goldens import make

RUNS = ["2.15"]

make("data_v2", {name: lambda m=case: outcome(tf, m) for name, case in CASES.items()})
