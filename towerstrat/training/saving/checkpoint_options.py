"""``tf.train.CheckpointOptions``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any


class CheckpointOptions:
    """How a checkpoint is saved or restored.

    Args:
      experimental_io_device: changes nothing: files are written by the process that calls.
      experimental_enable_async_checkpoint, enable_async: ``save`` returns when the values are copied off the devices; a
        thread writes them while training goes on. ``sync``, the next save, a restore and the end of the program wait
        for it, and raise its error.
      experimental_write_callbacks: functions that are called after a checkpoint was written, with its path or without
        arguments.

    Raises:
      ValueError: a callback takes more than one argument.
    """

    def __init__(
        self,
        experimental_io_device: str | None = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Sequence[Callable[..., Any]] | None = None,
        enable_async: bool = False,
    ):
        self.experimental_io_device = experimental_io_device
        self.enable_async = self.experimental_enable_async_checkpoint = (
            experimental_enable_async_checkpoint or enable_async
        )
        for callback in experimental_write_callbacks or ():
            if len(inspect.signature(callback).parameters) > 1:
                raise ValueError(f"A write callback takes the path of the checkpoint or nothing, got {callback!r}.")
        self.experimental_write_callbacks = experimental_write_callbacks

    def written(self, path: str) -> None:
        """Calls the functions that wait for a checkpoint."""
        for callback in self.experimental_write_callbacks or ():
            callback(*([path] if inspect.signature(callback).parameters else []))
