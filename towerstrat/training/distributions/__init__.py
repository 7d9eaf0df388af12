"""Probability distributions: ``tf.distributions``."""
