"""Generative adversarial networks: ``tf.contrib.gan``, but for what needs hooks or distributions."""
