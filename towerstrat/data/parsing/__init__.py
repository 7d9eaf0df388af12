"""Records as tensors: ``tf.Example``, CSV, features."""
