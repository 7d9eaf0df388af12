"""Writes feeds.json: what the original does in feeds_cases.py."""

import feeds_cases
import tensorflow as tf
from goldens import make

RUNS = ["1.12"]

make("feeds", feeds_cases.feeds(tf))
