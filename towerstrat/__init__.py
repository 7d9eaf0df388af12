"""TensorFlow 1 training programs with tower strategies, on JAX."""

__version__ = "0.1.0"
