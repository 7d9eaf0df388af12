"""Saving beside training: values are copied off the devices at once, and written to the disk by a thread."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeGuard

import jax
import numpy as np

from towerstrat.checkpoints.bundle_writer import Saved
from towerstrat.platform import logs


def copies(arrays: Iterable[Saved]) -> list[Saved]:
    """The same arrays with values that stay as they are now: training may go on while they are written.

    The copies from all devices are begun before the first one is waited for.
    """
    arrays = list(arrays)
    values = [array.load() for array in arrays]
    for value in values:
        if _elsewhere(value):
            value.copy_to_host_async()
    copies = [np.asarray(value) if _elsewhere(value) else np.array(value) for value in values]
    return [array._replace(load=partial(np.asarray, copy)) for array, copy in zip(arrays, copies, strict=True)]


def _elsewhere(value: Any) -> TypeGuard[jax.Array]:
    """Whether a value is in the memory of an accelerator, where numpy has it as a copy."""
    return isinstance(value, jax.Array) and all(device.platform != "cpu" for device in value.devices())


class BackgroundWriter:
    """Writes one checkpoint at a time in a thread of its own.

    An error of a write is logged when it happens, and raised by the next call of ``submit`` or ``wait``, at the latest
    when the program ends, which waits for the last write.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def submit(self, write: Callable[[], None]) -> None:
        """Begins to write, after what was submitted before is there.

        Args:
          write: writes values that nothing changes any more, see ``copies``.

        Raises:
          Exception: what the write before raised; nothing is begun then.
        """
        self.wait()
        self._thread = threading.Thread(target=self._run, args=(write,), name="towerstrat checkpoint")
        self._thread.start()
        atexit.register(self.wait)

    def wait(self) -> None:
        """Returns when all is written. Raises what the last write raised."""
        if self._thread is None:
            return
        self._thread.join()
        atexit.unregister(self.wait)
        self._thread, error, self._error = None, self._error, None
        if error is not None:
            raise error

    def _run(self, write: Callable[[], None]) -> None:
        try:
            write()
        except BaseException as error:
            logs.error("A checkpoint could not be written: %s", error)
            self._error = error
