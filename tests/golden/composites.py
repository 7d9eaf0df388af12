"""Writes composites.json: what the original makes of the programs of composites_cases.py."""

import tensorflow as tf
from composites_cases import CASES
from goldens import make

RUNS = ["2.15"]

make("composites", {name: lambda c=case: c(tf) for name, case in CASES.items()})
