"""Switches of ``tf.debugging``."""

from __future__ import annotations

from towerstrat.errors import UnsupportedError

_FILTERING = [True]


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Not supported: there is no mode that checks the results of all operations.

    Raises:
      UnsupportedError: always; the message names the alternatives.
    """
    raise UnsupportedError(
        "tf.debugging.enable_check_numerics is not supported. tf.debugging.check_numerics(tensor, message) checks one "
        'value and its gradient; jax.config.update("jax_debug_nans", True) stops at a compiled program with a NaN.'
    )


def disable_check_numerics() -> None:
    """Changes nothing: results of all operations are never checked."""


def enable_traceback_filtering() -> None:
    """Changes nothing: errors name the program's line, and tracebacks have all frames."""
    _FILTERING[0] = True


def disable_traceback_filtering() -> None:
    """Changes nothing, as ``enable_traceback_filtering``; for JAX's own frames set JAX_TRACEBACK_FILTERING=off."""
    _FILTERING[0] = False


def is_traceback_filtering_enabled() -> bool:
    """The stored setting; True by default."""
    return _FILTERING[0]
