"""Writes tpu_computations.json: what the originals return and refuse, by the version."""

import tensorflow as tf
from goldens import make
from tpu_computations_cases import found

RUNS = ["1.12", "1.15"]

make("tpu_computations", {".".join(tf.__version__.split(".")[:2]): found(tf)})
