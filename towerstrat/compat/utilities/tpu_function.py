"""How many shards a TPU computation has: ``tensorflow.contrib.tpu.python.tpu.tpu_function``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat.towers.engine import contexts


class TpuContext(threading.local):
    """What is known of the computation that is being built.

    Attributes:
      number_of_shards: what was set; else the number of towers inside a strategy's tower, None outside of any.
    """

    def __init__(self) -> None:
        self._number_of_shards: int | None = None

    @property
    def number_of_shards(self) -> int | None:
        if self._number_of_shards is None and contexts.in_tower_context():
            return contexts.current_engine().num_towers
        return self._number_of_shards

    def set_number_of_shards(self, number_of_shards: int | None) -> None:
        self._number_of_shards = number_of_shards


_current = TpuContext()


def get_tpu_context() -> TpuContext:
    """The context of this thread."""
    return _current


@contextmanager
def tpu_shard_context(number_of_shards: int) -> Iterator[None]:
    """Inside, the context has this number of shards. Raises NotImplementedError where it has one already."""
    if _current.number_of_shards is not None:
        raise NotImplementedError("tpu_shard_context cannot be nested.")
    _current.set_number_of_shards(number_of_shards)
    try:
        yield
    finally:
        _current.set_number_of_shards(None)


def on_device_training_loop(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: marks the function that holds a training loop, for tools that trace steps."""
    func.step_marker_location = "STEP_MARK_AT_TOP_LEVEL_WHILE_LOOP"  # type: ignore[attr-defined]
    return func
