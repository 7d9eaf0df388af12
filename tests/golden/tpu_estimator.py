"""Writes ``tpu_estimator.json``: what the original's ``TPUEstimator`` refuses. Wants TensorFlow 1.12.3."""

import json
import os

import tensorflow as tf
from tpu_estimator_cases import outcomes

if __name__ == "__main__":
    with open(os.path.join(os.path.dirname(__file__), "tpu_estimator.json"), "w") as file:
        json.dump(outcomes(tf), file, indent=1, sort_keys=True)
        file.write("\n")
