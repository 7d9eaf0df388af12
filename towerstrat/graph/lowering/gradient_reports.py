"""Report a gradient that would be wrong: a flow that is lost is an error, and never None or a number too small.

Two places find such: the second walk over the paths when a gradient is added (``ops/gradients/gradient_check``), and
the backward pass, where an operation on a path was not evaluated in the program that differentiates it. A user can go
on without this part of the gradient, by the environment variable:

>>> import os
>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     op = tf.constant(1.0, name="c").op
>>> report(op, "A gradient would be wrong: c is on its way, and was not evaluated.")
Traceback (most recent call last):
    ...
towerstrat.errors.InternalError: A gradient would be wrong: c is on its way, and was not evaluated. This is a fault ...
"""

from __future__ import annotations

import os

from towerstrat.errors import InternalError
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.platform import logs

VARIABLE = "TOWERSTRAT_GRADIENT_CHECK"
"""The environment variable that makes the error a warning ("warn")."""


def report(op: Operation, missing: str) -> None:
    """Raise InternalError about a missing flow of a gradient; log it where the environment asks for warnings."""
    message = (
        f"{missing} This is a fault of towerstrat: please report it with the program. With {VARIABLE}=warn in the "
        "environment the program goes on without this part of the gradient."
    )
    if os.environ.get(VARIABLE, "").lower() != "warn":
        raise InternalError(None, op, message)
    logs.warning("%s", message)
