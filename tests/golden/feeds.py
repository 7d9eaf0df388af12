"""Writes feeds.json: what the original does in feeds_cases.py.

Run it with the Python that has TensorFlow 1.12.3: ``python tests/golden/feeds.py``.
"""

import json
import os

import feeds_cases
import tensorflow as tf

with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json", "w") as file:
    json.dump(feeds_cases.feeds(tf), file, indent=1, sort_keys=True)
