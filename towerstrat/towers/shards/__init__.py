"""Computations that run on every shard: what ``tf.contrib.tpu`` has of its own."""
