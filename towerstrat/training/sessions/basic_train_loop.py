"""``tf.train.basic_train_loop``: trains by a supervisor.

Source: ``tensorflow/python/training/basic_loops.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towerstrat.errors import AbortedError
from towerstrat.training.sessions.supervisor import Supervisor


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., object],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls ``train_step_fn(session, *args, **kwargs)`` until the supervisor should stop.

    After AbortedError it goes on in a new session.

    Args:
      supervisor: prepares the session. train_step_fn: makes a step. master: the target of the session.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except AbortedError:
            continue
