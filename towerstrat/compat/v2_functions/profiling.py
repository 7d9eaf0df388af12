"""``tf.profiler.experimental``: profiles of a program, those of JAX."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from towerstrat.graph.ir.given_arguments import refuse

__all__ = ["Profile", "ProfilerOptions", "Trace", "start", "stop"]


class Trace(jax.profiler.TraceAnnotation):
    """A span of time in a profile: ``with Trace("train", step_num=3): ...``.

    Args:
      name: what profiles call it. kwargs: what else they say of it.
    """

    def __init__(self, name: str, **kwargs: Any):
        super().__init__(name, **kwargs)

    def set_metadata(self, **kwargs: Any) -> None:
        """Says more of it in profiles."""
        super().set_metadata(**kwargs)


class ProfilerOptions(NamedTuple):
    """What is recorded: JAX's profiler decides that, so that only the defaults are honored."""

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


def start(logdir: str, options: ProfilerOptions | None = None) -> None:
    """Begins a profile, which is written to a folder that TensorBoard reads.

    Raises:
      UnsupportedError: options other than the defaults. RuntimeError: a profile was begun already.
    """
    refuse(
        "tf.profiler.experimental.start", "Use jax.profiler.start_trace, which takes options of its own.",
        options=(options, None if options is None else ProfilerOptions()),
    )  # fmt: skip
    jax.profiler.start_trace(str(logdir))


def stop(save: bool = True) -> None:
    """Ends the profile and writes it.

    Raises:
      UnsupportedError: ``save`` is False. RuntimeError: none was begun.
    """
    refuse("tf.profiler.experimental.stop", "A profile that was begun is written.", save=(save, True))
    jax.profiler.stop_trace()


class Profile:
    """A profile of what is done inside ``with``: ``start`` and ``stop``."""

    def __init__(self, logdir: str, options: ProfilerOptions | None = None):
        self._logdir = logdir
        self._options = options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(self, *exc: Any) -> None:
        stop()
