"""Side files: state that a resumed run needs and that a checkpoint of variables has no place for.

Random counters, positions of iterators and the like (``training/saving/resume_state.py`` collects them) lie beside a
checkpoint, encoded by ``state_codec``. A side file must never be taken for that of another checkpoint, although one
prefix is overwritten again and again and a process can be killed at any moment. Two links hold the pair together:

    model-100.index              header: number of shards, ..., SHA-256 of the side file's contents
    model-100.resume-1a2b3c4d    name: masked CRC-32C of the bytes of the index

The side file is written before the index is renamed into place (``bundle_writer``), so that a committed checkpoint has
its own; a side file whose name does not fit the index at the prefix belongs to an earlier checkpoint, and is deleted. A
file that is missing or was exchanged is noticed by the SHA-256, a field that TensorFlow's protobuf skips as unknown.
Checkpoints of TensorFlow have no such field, nor have those of towerstrat from before it had one: there a side file is
found by its name alone. ``forget`` rewrites the index without the field, and deletes the file.

>>> import os, tempfile
>>> from towerstrat.checkpoints.bundle_writer import write
>>> from towerstrat.checkpoints.state_codec import encoded
>>> with tempfile.TemporaryDirectory() as folder:
...     prefix = os.path.join(folder, "model-100")
...     write(prefix, [], beside=encoded({"draws": 3}))
...     files = [os.path.basename(path) for path in side_files(prefix)]
...     state, _ = read(prefix), forget(prefix)
...     files, state, read(prefix)                  # doctest: +ELLIPSIS
(['model-100.resume-...'], {'draws': 3}, None)
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
    """Paths of the side files of all checkpoints that were ever written at a prefix, as far as they are still there."""
    return storage_of(prefix).beginning_with(f"{prefix}.resume-")


def side_file(prefix: str, index: bytes) -> str:
    """Path of the side file of the checkpoint whose index file has these bytes."""
    return f"{prefix}.resume-{masked_crc(index):08x}"


def _current_path(prefix: str) -> str | None:
    """Path of the side file that fits the index at a prefix; None where there is no such file, or no index."""
    index = index_path(prefix)
    storage = storage_of(prefix)
    if not storage.exists(index):
        return None
    file = storage.ranges(index)
    path = side_file(prefix, bytes(file.read(0, len(file))))
    return path if storage.exists(path) else None


def key(contents: bytes) -> bytes:
    """Serialized ``SideFileKey`` with the SHA-256 of a side file's contents.

    Appended to a serialized ``BundleHeaderProto`` it is a field of that message which TensorFlow skips as unknown.
    """
    serialized: bytes = messages.SideFileKey(sha256=hashlib.sha256(contents).digest()).SerializeToString()
    return serialized


def _sha256(prefix: str) -> bytes:
    """SHA-256 that the index at a prefix has of its side file; empty where it has none."""
    with damage_in(index_path(prefix)):
        return bytes(messages.SideFileKey.FromString(header_of(prefix) or b"").sha256)


def is_there(prefix: str) -> bool:
    """Whether the checkpoint at a prefix has a side file, or should have: then ``read`` reports it missing."""
    return bool(_sha256(prefix)) or _current_path(prefix) is not None


def of_others(prefix: str) -> list[str]:
    """Paths of the side files that earlier, overwritten checkpoints at a prefix left."""
    paths = side_files(prefix)
    current = _current_path(prefix) if paths else None
    return [path for path in paths if path != current]


def forget(prefix: str) -> None:
    """Delete the side file of the checkpoint at a prefix, if it has one, after its key was taken out of the index.

    In this order a process killed in between leaves a valid checkpoint: the new index has another checksum, and what is
    left does not fit it.
    """
    path = _current_path(prefix)
    if _sha256(prefix):
        index, storage = index_path(prefix), storage_of(prefix)
        entries = dict(sorted_tables.Table(storage.ranges(index)).items())
        header = messages.BundleHeaderProto.FromString(entries[b""])
        header.DiscardUnknownFields()
        entries[b""] = header.SerializeToString()
        with storage.writing(index) as file:
            file.write(sorted_tables.encode(sorted(entries.items())))
        written_files.record(index)
    if path is not None:
        storage_of(path).remove(path)


def read(prefix: str) -> State | None:
    """Read the state in the side file of the checkpoint at a prefix; None where it has none.

    Raises:
      DataLossError: the file is damaged, missing, or another checkpoint's; or the index is damaged.
    """
    expected, path = _sha256(prefix), _current_path(prefix)
    if path is None:
        if expected:
            raise DataLossError(None, None, f"The side file of {prefix}, {prefix}.resume-*, is gone.")
        return None
    file = storage_of(path).ranges(path)
    data = bytes(file.read(0, len(file)))
    try:
        state = decoded(data)
    except ValueError as error:
        raise DataLossError(None, None, f"{path}: {error}.") from None
    if expected and hashlib.sha256(data).digest() != expected:
        raise DataLossError(None, None, f"{path} is another checkpoint's: its SHA-256 is not the one in the index.")
    return state
