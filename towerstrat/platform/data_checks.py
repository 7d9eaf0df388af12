"""Switch of the run-time checks of operations' input values: zero divisors, indices and labels out of range.

With checks a bad value raises an error of ``tf.errors`` that names the operation; without them XLA clips, drops or
divides as it likes. An operation reads the switch when it is made, and not when it runs.
"""

from __future__ import annotations

import os

VARIABLE = "TOWERSTRAT_DATA_CHECKS"
"""The environment variable that turns the checks of operations' inputs off ("off" or "0")."""


class _Switch:
    """Holder of the switch. ``on``: whether operations made from now on check the values of their inputs."""

    def __init__(self) -> None:
        self.on = os.environ.get(VARIABLE, "on").lower() not in ("off", "0", "false")


DATA_CHECKS = _Switch()


def set_data_checks(enabled: bool) -> None:
    """Turn run-time checks of input values on or off: division by zero, indices and labels out of range, and so on.

    They are on by default; ``TOWERSTRAT_DATA_CHECKS=off`` in the environment turns them off from the start. Without
    them results are as XLA defines them: indices are clipped, rows out of range dropped, quotients by zero arbitrary.
    An operation keeps the setting at the time when it was made. ``tf.Assert`` and ``tf.check_numerics``, which a
    program asks for itself, are always evaluated.

    Example:

        >>> from towerstrat import data_checks_enabled, set_data_checks
        >>> set_data_checks(False)
        >>> data_checks_enabled()
        False
        >>> set_data_checks(True)
    """
    DATA_CHECKS.on = bool(enabled)


def data_checks_enabled() -> bool:
    """Whether operations made now check the values of their inputs."""
    return DATA_CHECKS.on
