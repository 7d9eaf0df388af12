"""States as bytes: numbers, strings, arrays, lists and dictionaries. Reading them runs no code."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from towerstrat.checkpoints import dtypes, string_codec
from towerstrat.platform.checksums import masked_crc
from towerstrat.platform.plain import State

_MAGIC = b"towerstrat resumption 1\n"


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
        code = dtypes.code_of(array.dtype)
    except ValueError as error:
        raise TypeError(str(error)) from None
    if code == dtypes.STRING and not all(isinstance(v, bytes | str) for v in array.reshape(-1)):
        raise TypeError("an array of Python objects is no part of a state")
    data = string_codec.encode(array)[0] if code == dtypes.STRING else np.ascontiguousarray(array).tobytes()
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
        if code == dtypes.STRING:
            return string_codec.decode(data, int(np.prod(shape, dtype=np.int64)), None).reshape(shape)
        return np.frombuffer(data, dtypes.type_of(code)).reshape(shape)
