"""Generative adversarial networks: ``tf.contrib.gan``, but for what needs distributions."""
