"""Writes random_images.json: deciles, extremes and means of what 1.12 draws for images. Run by its Python 3.6."""

import json
import os

import numpy as np
import tensorflow as tf
from random_images_cases import DRAWS, NOISE, drawn

found = {}
for name in sorted(DRAWS) + sorted(NOISE):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(7)
        draws = session.run(drawn(tf, name))
    limits = np.percentile(draws, np.arange(0, 101, 10), axis=0)
    found[name] = {
        "limits": limits.tolist(),
        "below": [(draws <= limit).mean(axis=0).tolist() for limit in limits],
        "mean": draws.mean(axis=0).tolist(),
        "deviation": draws.std(axis=0).tolist(),
    }
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "random_images.json"), "w") as file:
    json.dump(found, file, sort_keys=True)
    file.write("\n")
