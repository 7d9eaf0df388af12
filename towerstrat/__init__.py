"""TensorFlow 1 training programs with tower strategies, on JAX."""

from towerstrat.platform.data_checks import data_checks_enabled, set_data_checks

__all__ = ["data_checks_enabled", "set_data_checks"]

__version__ = "0.1.0"
