"""Side files of checkpoints: what a run needs besides its variables to go on as if it had not stopped.

A side file has the checksum of its checkpoint's index in its name, ``PREFIX.resume-01234567``, and is there before the
index is: a checkpoint has its own or none, also where one prefix is written again and again. Its contents are numbers,
strings, arrays, lists and dictionaries; reading them runs no code.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from towerstrat.checkpoints import elements, strings
from towerstrat.checkpoints.bundle import index_path
from towerstrat.errors import DataLossError
from towerstrat.platform.checksums import masked_crc
from towerstrat.platform.plain import State
from towerstrat.platform.storage import storage_of

_MAGIC = b"towerstrat resumption 1\n"


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


def encoded(state: State) -> bytes:
    """A state as bytes: a header in JSON, then the bytes of strings and arrays, then a checksum over all.

    Raises:
      TypeError: there is something in it that is no state.
    """
    parts: list[bytes] = []
    header = json.dumps(_described(state, parts), separators=(",", ":")).encode()
    data = b"".join([_MAGIC, struct.pack("<Q", len(header)), header, *parts])
    return data + struct.pack("<I", masked_crc(data))


def decoded(data: bytes) -> State:
    """The state that ``encoded`` gave these bytes for. Arrays are read-only.

    Raises:
      ValueError: the bytes are damaged, or something else.
    """
    start = len(_MAGIC) + 8
    if not data.startswith(_MAGIC) or len(data) < start + 4:
        raise ValueError("no state of a run is in it")
    if struct.unpack("<I", data[-4:])[0] != masked_crc(data[:-4]):
        raise ValueError("wrong checksum")
    (length,) = struct.unpack("<Q", data[len(_MAGIC) : start])
    return _Reader(memoryview(data)[start + length :]).value(json.loads(data[start : start + length]))


def _described(state: State, parts: list[bytes]) -> Any:
    """What the header says of a value; the bytes that are not in it are added to ``parts``."""
    if state is None or isinstance(state, bool | int | float | str):
        return state
    if isinstance(state, list | tuple):
        return [_described(v, parts) for v in state]
    if isinstance(state, dict):
        return {"dict": [[_described(k, parts), _described(v, parts)] for k, v in state.items()]}
    if isinstance(state, bytes):
        parts.append(state)
        return {"bytes": len(state)}
    if not isinstance(state, np.ndarray | np.generic):
        raise TypeError(f"{type(state).__name__} is no part of a state")
    array = np.asarray(state)
    try:
        code = elements.code_of(array.dtype)
    except ValueError as error:
        raise TypeError(str(error)) from None
    if code == elements.STRING and not all(isinstance(v, bytes | str) for v in array.reshape(-1)):
        raise TypeError("an array of Python objects is no part of a state")
    data = strings.encode(array)[0] if code == elements.STRING else np.ascontiguousarray(array).tobytes()
    parts.append(data)
    return {"array": [code, list(array.shape), len(data)]}


class _Reader:
    """Gives the values that a header describes, in order."""

    def __init__(self, data: memoryview):
        self._data = data
        self._place = 0

    def _taken(self, size: int) -> memoryview:
        self._place += size
        return self._data[self._place - size : self._place]

    def value(self, described: Any) -> State:
        if isinstance(described, list):
            return [self.value(v) for v in described]
        if not isinstance(described, dict):
            return described
        ((kind, what),) = described.items()
        if kind == "dict":
            return {self.value(k): self.value(v) for k, v in what}
        if kind == "bytes":
            return bytes(self._taken(what))
        code, shape, size = what
        data = self._taken(size)
        if code == elements.STRING:
            return strings.decode(data, int(np.prod(shape, dtype=np.int64)), None).reshape(shape)
        return np.frombuffer(data, elements.type_of(code)).reshape(shape)
