"""Writes resolvers.json: what TensorFlow 2.15 answers to resolvers_cases."""

import os

import tensorflow as tf
from goldens import make
from resolvers_cases import answers

RUNS = ["2.15"]

make("resolvers", answers(tf, os.environ))
