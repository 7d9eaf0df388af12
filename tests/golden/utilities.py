"""Writes utilities.json: what the original does in utilities_cases.py."""

from goldens import make
from utilities_cases import CASES

RUNS = ["1.12"]

make("utilities", {case.__name__: case for case in CASES})
