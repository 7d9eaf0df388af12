"""``fit``, ``evaluate`` and ``predict`` stop after the same execution in all processes, when these are told to end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.hosts.heartbeat import PROGRESS

_LOOPS = ("fit", "evaluate", "predict")
_TRAIN = "train"
_MODES = (_TRAIN, "test", "predict")


@dataclass
class _Training:
    """A ``fit`` that is under way.

    Attributes:
      callbacks: its CallbackList. batch: the number of the last one of its epoch that was trained on; None: none was.
    """

    callbacks: Any
    batch: int | None = None


_TRAININGS: list[_Training] = []
"""Those that are under way, one within another."""


def look_in_loops(module: ModuleType) -> None:
    """Lets SIGTERM wait for the end of an execution, while one of a model's loops runs."""
    for name in _LOOPS:
        setattr(vars(module)["Model"], name, _looking(getattr(vars(module)["Model"], name)))


def end_by_callbacks(module: ModuleType) -> None:
    """Lets the lists of callbacks, which are called after each execution, end a program whose processes are to stop."""
    callbacks, keeper = vars(module)["CallbackList"], vars(module)["BackupAndRestore"]
    begin, hook = callbacks.on_train_begin, callbacks._call_batch_hook

    @wraps(begin)
    def on_train_begin(self: Any, logs: Any = None) -> None:
        _TRAININGS.append(_Training(self))
        begin(self, logs)

    @wraps(hook)
    def call_batch_hook(self: Any, mode: str, when: str, batch: int, logs: Any = None) -> None:
        hook(self, mode, when, batch, logs)
        if when == "end":
            _look(self, mode, batch, keeper)

    callbacks.on_train_begin, callbacks._call_batch_hook = on_train_begin, call_batch_hook
    for mode in _MODES:
        name = f"on_{mode}_batch_end"
        setattr(callbacks, name, _ending(getattr(callbacks, name), mode, keeper))


def _ending(method: Callable[..., None], mode: str, keeper: type) -> Callable[..., None]:
    # Those of the eager loops are called where no callback has the hook, too.
    @wraps(method)
    def on_batch_end(self: Any, batch: int, logs: Any = None) -> None:
        method(self, batch, logs)
        _look(self, mode, batch, keeper)

    return on_batch_end


def _looking(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def loop(*args: Any, **kwargs: Any) -> Any:
        with _stopping_by_itself():
            return method(*args, **kwargs)

    return loop


@contextmanager
def _stopping_by_itself() -> Iterator[None]:
    before = len(_TRAININGS)
    PROGRESS.stops += 1
    try:
        yield
    finally:
        PROGRESS.stops -= 1
        del _TRAININGS[before:]


def _look(callbacks: Any, mode: str, batch: int, keeper: type) -> None:
    """After an execution: where all processes are to stop, callbacks end the training, and the program ends.

    Args:
      callbacks: the list that is told of it. mode: what it did. batch: the number of its last one.
      keeper: the class of the callbacks from whose files another run goes on.

    Raises:
      SystemExit: all are to stop.
    """
    training = next((each for each in _TRAININGS if each.callbacks is callbacks), None)
    if training is not None and mode == _TRAIN:
        training.batch = batch
    if not PROGRESS.reached_stop():
        return
    while _TRAININGS:
        ended = _TRAININGS.pop()
        for callback in ended.callbacks.callbacks:
            if isinstance(callback, keeper):
                _keep(callback, ended.batch, epoch_is_over=ended is training and mode != _TRAIN)
        ended.callbacks.on_train_end()
    raise SystemExit(128 + signal.SIGTERM)


def _keep(callback: Any, batch: int | None, epoch_is_over: bool) -> None:
    """Lets a BackupAndRestore save what another run goes on from. Those that save each epoch know no place within one:
    there the last one's end stays."""
    callback.delete_checkpoint = False
    if callback.save_freq != "epoch" and batch is not None:
        callback._training_state._ckpt_saved_batch.assign(batch)
    elif not epoch_is_over:
        return
    callback._backup(epoch=callback._current_epoch, batch=batch or 0)
