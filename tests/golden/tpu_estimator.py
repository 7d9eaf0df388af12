"""Writes tpu_estimator.json: what the original's ``TPUEstimator`` refuses."""

import tensorflow as tf
from goldens import make
from tpu_estimator_cases import outcomes

RUNS = ["1.12"]

make("tpu_estimator", outcomes(tf))
