"""Side files of checkpoints: what a run needs besides its variables to go on as if it had not stopped.

A side file has the checksum of its checkpoint's index in its name, ``PREFIX.resume-01234567``, and is there before the
index is: a checkpoint has its own or none, also where one prefix is written again and again. The index has the side
file's SHA-256 in a field of its header that the originals read past: one that is gone or another's is noticed.
Checkpoints of the originals have no such key, nor have those that were written before there was one. A side file's
contents are numbers, strings, arrays, lists and dictionaries; reading them runs no code.
"""

from __future__ import annotations

import hashlib

from towerstrat.checkpoints import sorted_tables, written_files
from towerstrat.checkpoints.bundle_reader import damage_in, header_of, index_path
from towerstrat.checkpoints.state_codec import decoded
from towerstrat.errors import DataLossError
from towerstrat.platform import messages
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


def key(contents: bytes) -> bytes:
    """A ``SideFileKey``: the part of an index's header that tells its checkpoint's side file, by its contents."""
    found: bytes = messages.SideFileKey(sha256=hashlib.sha256(contents).digest()).SerializeToString()
    return found


def _sha256(prefix: str) -> bytes:
    """The SHA-256 of its side file that a checkpoint has; empty where it has none."""
    with damage_in(index_path(prefix)):
        return bytes(messages.SideFileKey.FromString(header_of(prefix) or b"").sha256)


def is_there(prefix: str) -> bool:
    """Whether the checkpoint at a prefix has a side file, or had one when it was written."""
    return bool(_sha256(prefix)) or _own(prefix) is not None


def of_others(prefix: str) -> list[str]:
    """The side files of checkpoints that were at a prefix before."""
    found = side_files(prefix)
    own = _own(prefix) if found else None
    return [path for path in found if path != own]


def forget(prefix: str) -> None:
    """Parts the checkpoint at a prefix from its side file, if it has one: an index without the key takes its place."""
    path = _own(prefix)
    if _sha256(prefix):
        index, storage = index_path(prefix), storage_of(prefix)
        entries = dict(sorted_tables.Table(storage.ranges(index)).items())
        header = messages.BundleHeaderProto.FromString(entries[b""])
        header.DiscardUnknownFields()
        entries[b""] = header.SerializeToString()
        with storage.writing(index) as file:
            file.write(sorted_tables.encoded(sorted(entries.items())))
        written_files.record(index)
    if path is not None:
        storage_of(path).remove(path)


def read(prefix: str) -> State | None:
    """The contents of the side file of the checkpoint that is at a prefix; None where it has none.

    Raises:
      DataLossError: the file is damaged, gone, or another checkpoint's; or the index is damaged.
    """
    expected, path = _sha256(prefix), _own(prefix)
    if path is None:
        if expected:
            raise DataLossError(None, None, f"The side file of {prefix}, {prefix}.resume-*, is gone.")
        return None
    found = storage_of(path).ranges(path)
    data = bytes(found.read(0, len(found)))
    try:
        state = decoded(data)
    except ValueError as error:
        raise DataLossError(None, None, f"{path}: {error}.") from None
    if expected and hashlib.sha256(data).digest() != expected:
        raise DataLossError(None, None, f"{path} is another checkpoint's: its SHA-256 is not the one in the index.")
    return state
