"""Which checkpoints a folder has: the original's functions over ``towerstrat.checkpoints.checkpoint_state``."""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any

from towerstrat.checkpoints import checkpoint_state
from towerstrat.checkpoints.bundle_reader import index_path
from towerstrat.errors import DataLossError
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs, messages
from towerstrat.platform.duty import DUTY
from towerstrat.platform.storage import storage_of


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """A ``CheckpointState`` with the paths as they are; those relative to a relative ``save_dir`` where both are.

    Raises:
      ValueError: not one time for each path.
    """

    def spelled(path: str) -> str:
        return path if os.path.isabs(save_dir) or os.path.isabs(path) else os.path.relpath(path, save_dir)

    state = _new_state(
        save_dir, model_checkpoint_path, all_model_checkpoint_paths, all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )  # fmt: skip
    paths = list(all_model_checkpoint_paths or ())
    paths += [] if model_checkpoint_path in paths else [model_checkpoint_path]
    state.model_checkpoint_path = spelled(model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = map(spelled, paths)
    return state


def _new_state(
    save_dir: str, latest: str, paths: Sequence[str] | None, times: Sequence[float] | None, preserved: float | None
) -> Any:
    """``checkpoint_state.new_state``, whose paths are relative to a folder that they are in."""
    if not paths or paths[-1] != latest:
        logs.info("%s is not in all_model_checkpoint_paths. Manually adding it.", latest)
    return checkpoint_state.new_state(save_dir, latest, paths, times, preserved)


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Writes the state file of a folder.

    Args:
      save_dir: the folder. model_checkpoint_path: the latest checkpoint.
      all_model_checkpoint_paths: all that are there, oldest first.
      latest_filename: the name of the state file, default "checkpoint".
      all_model_checkpoint_timestamps: when each was written; last_preserved_timestamp: when the last one that is kept
        for good was; both in seconds since 1970.
      save_relative_paths: whether absolute paths are written as those below the folder.

    Raises:
      RuntimeError: a checkpoint has the path of the state file.
    """

    def written(path: str) -> str:
        return os.path.relpath(path, save_dir) if save_relative_paths and os.path.isabs(path) else path

    state = _new_state(
        save_dir,
        written(model_checkpoint_path),
        [written(path) for path in all_model_checkpoint_paths or ()],
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    if checkpoint_state.state_path(save_dir, latest_filename) == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state. "
            "Please use a different save path."
        )
    COLLECTIVES.on_first_process(lambda: checkpoint_state.write_state(save_dir, state, latest_filename))


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> messages.CheckpointState | None:
    """The ``CheckpointState`` of a folder with full paths; None where there is none, or none that can be read.

    Processes that run together get what the first one finds, which may go on and save while others still ask.

    Raises:
      ValueError: the state file names no checkpoint.
    """
    if not PROCESSES.in_lockstep or threading.current_thread() is not threading.main_thread():
        return _state(checkpoint_dir, latest_filename)
    found = _state(checkpoint_dir, latest_filename) if PROCESSES.index == 0 else None
    told = COLLECTIVES.broadcast("" if found is None else base64.b64encode(found.SerializeToString()).decode())
    return messages.CheckpointState.FromString(base64.b64decode(told)) if told else None


def _state(checkpoint_dir: str, latest_filename: str | None) -> messages.CheckpointState | None:
    try:
        return checkpoint_state.read_state(os.fsdecode(checkpoint_dir), latest_filename)
    except DataLossError as error:
        logs.warning("%s", error.message)
        return None


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The path of the latest checkpoint of a folder, which the program passes to ``restore``; None: there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if checkpoint_state.exists(state.model_checkpoint_path):
        return str(state.model_checkpoint_path)
    logs.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint of either format at a prefix, which may be a pattern."""
    return checkpoint_state.exists(os.fsdecode(checkpoint_prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[str]) -> list[float]:
    """When checkpoints were written, in seconds since 1970; those that are not there are left out."""
    times = []
    for prefix in checkpoint_prefixes:
        storage = storage_of(prefix)
        files = [p for p in (index_path(prefix),) if storage.exists(p)] or storage.matching(prefix)
        times += [storage.modified(path) for path in files[:1]]
    return times


def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Removes a checkpoint and its ``meta`` file. Its format is seen from its files."""
    COLLECTIVES.on_first_process(partial(_remove, checkpoint_prefix, meta_graph_suffix))


def _remove(prefix: str, meta_graph_suffix: str) -> None:
    storage_of(prefix).remove(meta_graph_filename(prefix, meta_graph_suffix))
    checkpoint_state.remove(prefix)


def remove_surplus(checkpoint_prefix: str, folders: Collection[str], meta_graph_suffix: str = "meta") -> None:
    """Removes a checkpoint that is one too many.

    It stays, which is logged, where another program has overwritten it, and where it is in none of ``folders``: a state
    file may come from somebody else, and name any file.

    Args:
      folders: those in which checkpoints were saved, as ``checkpoint_state.folder_of`` says them.
    """
    if not DUTY.writes:
        return
    if checkpoint_state.folder_of(checkpoint_prefix) not in folders:
        logs.warning(
            "%s is kept: the state file names it, but it is not in %s, where checkpoints are saved. Remove it yourself "
            "if it is one too many.", checkpoint_prefix, " or ".join(sorted(folders)),
        )  # fmt: skip
    elif checkpoint_state.replaced(checkpoint_prefix):
        logs.warning("%s is kept: another program has overwritten it since this one saved it.", checkpoint_prefix)
    else:
        storage_of(checkpoint_prefix).remove(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
        checkpoint_state.remove_listed(checkpoint_prefix)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """The path of the ``meta`` file of a checkpoint; a part such as ``-?????-of-00002`` of its name is left out."""
    base, found, rest = os.path.basename(checkpoint_filename).partition("-?????-of-")
    name = base if found and rest.isdigit() else os.path.basename(checkpoint_filename)
    return os.path.join(os.path.dirname(checkpoint_filename), f"{name}.{meta_graph_suffix}")
