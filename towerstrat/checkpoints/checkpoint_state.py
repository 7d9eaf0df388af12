"""The state file named ``checkpoint`` in a folder of checkpoints: which of them exist, and which is the latest.

The file is a ``CheckpointState`` message as protobuf text. A saver rewrites it after every save, and
``latest(folder)`` reads it when a program resumes:

    >>> print(new_state("/runs/1", "/runs/1/model-200", ["/runs/1/model-100", "/runs/1/model-200"]), end="")
    model_checkpoint_path: "model-200"
    all_model_checkpoint_paths: "model-100"
    all_model_checkpoint_paths: "model-200"

Paths within the folder are stored relative to it, so that a folder can be moved or copied; ``read_state`` gives full
paths. The file is evidence and not the truth: ``latest`` looks whether the checkpoint that it names is there.

Deleting a checkpoint also happens here. The index goes first, since a prefix without one is no checkpoint: a process
killed in between leaves data files without a checkpoint and never a checkpoint without its data. ``remove`` takes a
prefix that the program passes; ``remove_listed`` takes one out of a state file, which anybody may have edited, and
therefore expands no patterns. Source: ``checkpoint_state.proto``.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
"""Suffix of a path that names one shard of a V1 checkpoint, or, with question marks, all of them."""


def state_path(folder: str, name: str | None = None) -> str:
    """Path of a folder's state file. ``name``: another file name than ``checkpoint``."""
    return os.path.join(folder, name or STATE_FILE)


def new_state(
    folder: str,
    latest: str,
    paths: Sequence[str] | None = None,
    times: Sequence[float] | None = None,
    preserved: float | None = None,
) -> messages.CheckpointState:
    """Make a ``CheckpointState``; paths below ``folder`` become relative to it.

    Args:
      folder: the directory that the message will be written to.
      latest: prefix of the latest checkpoint.
      paths: prefixes of all, oldest first; the latest is added where it is missing.
      times: when each was written, in seconds since 1970.
      preserved: when the last checkpoint that is kept for good (``keep_checkpoint_every_n_hours``) was written.

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
    """Raise InvalidArgumentError for paths that are not UTF-8, which no protobuf string can hold."""
    try:
        yield
    except UnicodeEncodeError:
        raise InvalidArgumentError(
            None, None, f"{folder!r}: expected folders and names of checkpoints that are UTF-8, since state files are."
        ) from None


def write_state(folder: str, state: messages.CheckpointState, name: str | None = None) -> None:
    """Write the state file of a folder atomically. Warns where another program has replaced the one written before."""
    path = state_path(folder, name)
    if written_files.replaced(path):
        logs.warning(
            "%s was written by another program: two save to this folder, and the file names the checkpoints of the one "
            "that saved last. Neither removes those of the other; give each a folder of its own.", path,
        )  # fmt: skip
    with storage_of(path).writing(path) as file:
        file.write(text_format.MessageToString(state).encode())
    written_files.record(path)


def read_state(folder: str, name: str | None = None) -> messages.CheckpointState | None:
    """Read the ``CheckpointState`` of a folder, with full paths; None where there is no state file.

    Raises:
      DataLossError: the file cannot be parsed. InvalidArgumentError: the folder is not UTF-8.
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
    """Whether there is a checkpoint at ``prefix``: an index (V2), or files that match it as a pattern (V1)."""
    storage = storage_of(prefix)
    return storage.exists(index_path(prefix)) or bool(storage.matching(prefix))


def latest(folder: str, name: str | None = None) -> str | None:
    """Prefix of the checkpoint that the folder's state file names as the latest; None where that does not exist."""
    state = read_state(folder, name)
    return state.model_checkpoint_path if state is not None and exists(state.model_checkpoint_path) else None


def prefix_of(path: str) -> str:
    """Resolve a path that a user typed: a prefix, the path of an index file, or a folder, which means its latest.

    Raises:
      NotFoundError: there is no checkpoint, or the folder's state file names none that exists.
    """
    if exists(path):
        return path.removesuffix(".index") if exists(path.removesuffix(".index")) else path
    if storage_of(path).exists(state_path(path)):
        prefix = latest(path)
        if prefix is not None:
            return prefix
    raise NotFoundError(
        None, None, f"Expected a checkpoint, its .index file, or a folder whose state file names one, got {path}."
    )


def replaced(prefix: str) -> bool:
    """Whether another program has overwritten a checkpoint that this process wrote."""
    return written_files.replaced(index_path(prefix))


def remove(prefix: str) -> None:
    """Delete a checkpoint of either format: the index first, without which it is none, then data and side files."""
    storage = storage_of(prefix)
    written_files.forget(index_path(prefix))
    storage.remove(index_path(prefix))
    data = storage.beginning_with(f"{prefix}.data-")
    for path in (*side_files(prefix), *data, *storage.matching(prefix), *_first_format(prefix)):
        storage.remove(path)


def _first_format(prefix: str) -> list[str]:
    """Paths of the shards of a V1 checkpoint."""
    return storage_of(prefix).matching(f"{prefix}-?????-of-?????")


def folder_of(prefix: str) -> str:
    """Folder of a checkpoint in one canonical form: symbolic links and ``..`` of local paths are resolved."""
    folder = os.path.dirname(prefix)
    return os.path.realpath(folder.removeprefix("file://")) if storage_of(prefix).scheme == "file" else folder


def remove_listed(prefix: str) -> None:
    """Delete a checkpoint that a state file lists. Unlike ``remove`` it takes the path literally, and not as a pattern.

    Args:
      prefix: its path, which may end with the shards of a V1 checkpoint, ``-?????-of-00002``. Only files in the
        prefix's own folder that begin with it are deleted; as V1 checkpoints only files that are sorted tables.
    """
    storage = storage_of(prefix)
    written_files.forget(index_path(prefix))
    storage.remove(index_path(prefix))
    start = _SHARD.sub("", prefix)
    first = [path for path in storage.beginning_with(start) if _is_first_format(path, start)]
    for path in (*side_files(prefix), *storage.beginning_with(f"{prefix}.data-"), *first):
        storage.remove(path)


def _is_first_format(path: str, start: str) -> bool:
    """Whether a file is a V1 checkpoint named ``start``, or a shard of it: its name fits, and it is a sorted table."""
    return _SHARD.sub("", path) == start and sorted_tables.is_table(storage_of(path).ranges(path))


def _relative(folder: str, path: str) -> str:
    if not _ADDRESS.match(folder) and _ADDRESS.match(path):
        return path
    start = os.path.join(folder, "")
    return path.removeprefix(start) if path.startswith(start) else path


def _full(folder: str, path: str) -> str:
    return path if _ADDRESS.match(path) else os.path.join(folder, path)
