"""Side files of checkpoints: what a run needs besides its variables to go on as if it had not stopped.

A side file has the checksum of its checkpoint's index in its name, ``PREFIX.resume-01234567``, and is there before the
index is: a checkpoint has its own or none, also where one prefix is written again and again. Its contents are numbers,
strings, arrays, lists and dictionaries; reading them runs no code.
"""

from __future__ import annotations

from towerstrat.checkpoints.bundle_reader import index_path
from towerstrat.checkpoints.state_codec import decoded
from towerstrat.errors import DataLossError
from towerstrat.platform.checksums import masked_crc
from towerstrat.platform.plain import State
from towerstrat.platform.storage import storage_of


def side_files(prefix: str) -> list[str]:
    """The side files of all checkpoints that were written under a prefix."""
    return storage_of(prefix).beginning_with(f"{prefix}.resume-")


def side_file(prefix: str, index: bytes) -> str:
    """The path of the side file of the checkpoint with this index."""
    return f"{prefix}.resume-{masked_crc(index):08x}"


def _own(prefix: str) -> str | None:
    """The side file of the checkpoint that is at a prefix; None where it has none."""
    index = index_path(prefix)
    storage = storage_of(prefix)
    if not storage.exists(index):
        return None
    file = storage.ranges(index)
    path = side_file(prefix, bytes(file.read(0, len(file))))
    return path if storage.exists(path) else None


def of_others(prefix: str) -> list[str]:
    """The side files of checkpoints that were at a prefix before."""
    found = side_files(prefix)
    own = _own(prefix) if found else None
    return [path for path in found if path != own]


def forget(prefix: str) -> None:
    """Removes the side file of the checkpoint that is at a prefix, if it has one."""
    path = _own(prefix)
    if path is not None:
        storage_of(path).remove(path)


def read(prefix: str) -> State | None:
    """The contents of the side file of the checkpoint that is at a prefix; None where it has none.

    Raises:
      DataLossError: the file is damaged.
    """
    path = _own(prefix)
    if path is None:
        return None
    found = storage_of(path).ranges(path)
    try:
        return decoded(bytes(found.read(0, len(found))))
    except ValueError as error:
        raise DataLossError(None, None, f"{path}: {error}.") from None
