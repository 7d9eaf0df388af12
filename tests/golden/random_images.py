"""Writes random_images.json: deciles, extremes and means of what 1.12 draws for images."""

import numpy as np
import tensorflow as tf
from goldens import make
from random_images_cases import DRAWS, NOISE, drawn

RUNS = ["1.12"]


def run(name):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(7)
        draws = session.run(drawn(tf, name))
    limits = np.percentile(draws, np.arange(0, 101, 10), axis=0)
    return {
        "limits": limits.tolist(),
        "below": [(draws <= limit).mean(axis=0).tolist() for limit in limits],
        "mean": draws.mean(axis=0).tolist(),
        "deviation": draws.std(axis=0).tolist(),
    }


make("random_images", {name: lambda n=name: run(n) for name in sorted(DRAWS) + sorted(NOISE)})
