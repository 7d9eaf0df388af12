"""Writes mirrored_random.json: what the programs of mirrored_programs.py come to on 2 and 4 virtual devices.

A key is the seed and the number of towers.
"""

import tensorflow as tf
from goldens import make
from mirrored_programs import facts

RUNS = ["1.12"]
SEEDS = 200

tf.logging.set_verbosity(tf.logging.ERROR)
make("mirrored_random", {f"{s} {n}": lambda s=s, n=n: facts(tf, s, n) for s in range(SEEDS) for n in (2, 4)})
