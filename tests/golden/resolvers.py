"""Writes resolvers.json: what TensorFlow 2.15 answers to resolvers_cases. Run it with the Python that has it."""

import json
import os

import tensorflow as tf
from resolvers_cases import answers

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "resolvers.json"), "w") as file:
    json.dump(answers(tf, os.environ), file, indent=0, sort_keys=True)
    file.write("\n")
