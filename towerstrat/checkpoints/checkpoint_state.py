"""The file ``checkpoint`` in a folder of checkpoints: which there are, and which is the latest. Source:
``checkpoint_state.proto``, a message as text."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from google.protobuf import text_format

from towerstrat.checkpoints import sorted_tables, written_files
from towerstrat.checkpoints.bundle_reader import index_path
from towerstrat.checkpoints.side_files import side_files
from towerstrat.errors import DataLossError, InvalidArgumentError, NotFoundError
from towerstrat.platform import logs, messages
from towerstrat.platform.storage import storage_of

STATE_FILE = "checkpoint"
_ADDRESS = re.compile(r"^(/|[a-z][a-z0-9+.-]*://)")
_SHARD = re.compile(r"-(\?{5}|\d{5})-of-\d{5}$")
"""The end of a path that names a shard of the first format, or all of them."""


def state_path(folder: str, name: str | None = None) -> str:
    """The path of the state file of a folder."""
    return os.path.join(folder, name or STATE_FILE)


def new_state(
    folder: str,
    latest: str,
    paths: Sequence[str] | None = None,
    times: Sequence[float] | None = None,
    preserved: float | None = None,
) -> Any:
    """A ``CheckpointState``: paths below ``folder`` are relative to it, so that the folder can be moved.

    Args:
      latest: the prefix of the latest. paths: of all, oldest first; the latest is added where it is missing.
      times: when each was written, in seconds since 1970.
      preserved: when the last one that is kept for good was written.

    Raises:
      ValueError: not one time for each path. InvalidArgumentError: a path is not UTF-8.
    """
    paths = list(paths or ())
    if latest not in paths:
        paths.append(latest)
        times = [*times, time.time()] if times is not None and len(times) == len(paths) - 1 else times
    if times is not None and len(times) != len(paths):
        raise ValueError(f"Expected a time for each of {len(paths)} checkpoints, got {len(times)}.")
    with _text(folder):
        return messages.CheckpointState(
            model_checkpoint_path=_relative(folder, latest),
            all_model_checkpoint_paths=[_relative(folder, path) for path in paths],
            all_model_checkpoint_timestamps=times,
            last_preserved_timestamp=preserved or 0.0,
        )


@contextmanager
def _text(folder: str) -> Iterator[None]:
    """Names what no message can say: paths that are not UTF-8."""
    try:
        yield
    except UnicodeEncodeError:
        raise InvalidArgumentError(
            None, None, f"{folder!r}: expected folders and names of checkpoints that are UTF-8, since state files are."
        ) from None


def write_state(folder: str, state: Any, name: str | None = None) -> None:
    """Writes the state file of a folder, whole or not at all. Where another program has replaced it, that is logged."""
    path = state_path(folder, name)
    if written_files.replaced(path):
        logs.warning(
            "%s was written by another program: two save to this folder, and the file names the checkpoints of the one "
            "that saved last. Neither removes those of the other; give each a folder of its own.", path,
        )  # fmt: skip
    with storage_of(path).writing(path) as file:
        file.write(text_format.MessageToString(state).encode())
    written_files.record(path)


def read_state(folder: str, name: str | None = None) -> Any:
    """The ``CheckpointState`` of a folder with full paths; None where there is none.

    Raises:
      DataLossError: the file is there, and is no such message. InvalidArgumentError: the folder is not UTF-8.
      ValueError: the message names no checkpoint, as that of an empty file.
    """
    path = state_path(folder, name)
    storage = storage_of(path)
    if not storage.exists(path):
        return None
    file = storage.ranges(path)
    state = messages.CheckpointState()
    try:
        text_format.Parse(bytes(file.read(0, len(file))), state)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise DataLossError(None, None, f"{path}: {error}.") from None
    if not state.model_checkpoint_path:
        raise ValueError(
            f"Invalid checkpoint state loaded from {folder}: {path} names no checkpoint (model_checkpoint_path). "
            "Remove it, or restore the file."
        )
    with _text(folder):
        state.model_checkpoint_path = _full(folder, state.model_checkpoint_path)
        state.all_model_checkpoint_paths[:] = [_full(folder, p) for p in state.all_model_checkpoint_paths]
    return state


def exists(prefix: str) -> bool:
    """Whether there is a checkpoint of either format at ``prefix``, which may be a pattern of files of the first."""
    storage = storage_of(prefix)
    return storage.exists(index_path(prefix)) or bool(storage.matching(prefix))


def latest(folder: str, name: str | None = None) -> str | None:
    """The prefix of the latest checkpoint of a folder that is still there, as its state file has it; else None."""
    state = read_state(folder, name)
    return state.model_checkpoint_path if state is not None and exists(state.model_checkpoint_path) else None


def prefix_of(path: str) -> str:
    """The prefix of a checkpoint that is named by itself, by its index file, or by its folder, whose latest it is.

    Raises:
      NotFoundError: the state file of the folder names none that is there.
    """
    if exists(path):
        return path.removesuffix(".index") if exists(path.removesuffix(".index")) else path
    if storage_of(path).exists(state_path(path)):
        found = latest(path)
        if found is not None:
            return found
    raise NotFoundError(
        None, None, f"Expected a checkpoint, its .index file, or a folder whose state file names one, got {path}."
    )


def replaced(prefix: str) -> bool:
    """Whether another program has overwritten a checkpoint that this one wrote."""
    return written_files.replaced(index_path(prefix))


def remove(prefix: str) -> None:
    """Removes a checkpoint: first what makes it one, then the rest."""
    storage = storage_of(prefix)
    written_files.forget(index_path(prefix))
    storage.remove(index_path(prefix))
    data = storage.beginning_with(f"{prefix}.data-")
    for path in (*side_files(prefix), *data, *storage.matching(prefix), *_first_format(prefix)):
        storage.remove(path)


def _first_format(prefix: str) -> list[str]:
    """The shards of a checkpoint of the first format."""
    return storage_of(prefix).matching(f"{prefix}-?????-of-?????")


def folder_of(prefix: str) -> str:
    """The folder of a checkpoint, the same for all ways to say it: on this machine links and ``..`` are followed."""
    folder = os.path.dirname(prefix)
    return os.path.realpath(folder.removeprefix("file://")) if storage_of(prefix).scheme == "file" else folder


def remove_listed(prefix: str) -> None:
    """Removes a checkpoint of which a state file says that it is one: files of other kinds stay, and no pattern counts.

    Args:
      prefix: its path, whose end may name all shards of the first format. Only files of its folder go.
    """
    storage = storage_of(prefix)
    written_files.forget(index_path(prefix))
    storage.remove(index_path(prefix))
    start = _SHARD.sub("", prefix)
    first = [path for path in storage.beginning_with(start) if _is_first_format(path, start)]
    for path in (*side_files(prefix), *storage.beginning_with(f"{prefix}.data-"), *first):
        storage.remove(path)


def _is_first_format(path: str, start: str) -> bool:
    """Whether a file is a checkpoint of the first format, or a shard of one."""
    return _SHARD.sub("", path) == start and sorted_tables.is_table(storage_of(path).ranges(path))


def _relative(folder: str, path: str) -> str:
    if not _ADDRESS.match(folder) and _ADDRESS.match(path):
        return path
    start = os.path.join(folder, "")
    return path.removeprefix(start) if path.startswith(start) else path


def _full(folder: str, path: str) -> str:
    return path if _ADDRESS.match(path) else os.path.join(folder, path)
