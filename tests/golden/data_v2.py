"""Writes data_v2.json: what the original makes of the datasets in data_v2_cases.py. Run with the Python of 2.15."""

import json
import os

import tensorflow as tf
from data_v2_cases import CASES, outcome

found = {name: outcome(tf, make) for name, make in CASES.items()}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data_v2.json"), "w") as file:
    json.dump(found, file, indent=0, sort_keys=True)
    file.write("\n")
