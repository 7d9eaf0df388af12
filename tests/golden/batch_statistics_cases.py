"""Inputs of batch normalization whose mean is 0, 3 and 30 standard deviations, in three element types."""

import numpy as np

TYPES = ("float32", "bfloat16", "float16")
OFFSETS = (0, 3, 30)
SCALE, OFFSET = np.array([1.5, 0.5, -2.0], np.float32), np.array([0.0, 1.0, -1.0], np.float32)


def image(offset):
    """``[4, 6, 5, 3]``, float32, of standard deviation 1."""
    return np.random.RandomState(offset).normal(offset, 1, (4, 6, 5, 3)).astype(np.float32)


COTANGENT = np.random.RandomState(1).normal(0, 1, (4, 6, 5, 3)).astype(np.float32)
