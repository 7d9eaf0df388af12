"""Serialize plain values to bytes: numbers, strings, arrays, lists and dictionaries, with one checksum over all.

The alternative to pickle for the state that side files and iterators keep: decoding runs no code, whatever the bytes
are. A JSON header describes the values; the contents of byte strings and arrays follow it, in the order in which the
header has them.

    >>> data = encoded({"step": 3, "seen": np.array([1, 2], np.int32)})
    >>> data[32:-12]                                         # of the array: dtype (3: DT_INT32), shape, bytes
    b'{"dict":[["step",3],["seen",{"array":[3,[2],8]}]]}'
    >>> decoded(data)
    {'step': 3, 'seen': array([1, 2], dtype=int32)}

Layout: magic line, length of the header (uint64), header, contents, masked CRC-32C (uint32). Tuples come back as lists,
numpy scalars as arrays of shape [], arrays of ``str`` as arrays of bytes. Dictionaries keep their order.
"""

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
    """Serialize a state.

    Raises:
      TypeError: a value in it is none of the types of ``State``; an array has a dtype that checkpoints do not have.
    """
    parts: list[bytes] = []
    header = json.dumps(_describe(state, parts), separators=(",", ":")).encode()
    data = b"".join([_MAGIC, struct.pack("<Q", len(header)), header, *parts])
    return data + struct.pack("<I", masked_crc(data))


def decoded(data: bytes) -> State:
    """Deserialize what ``encoded`` returned. Arrays of numbers are read-only views of ``data``.

    Raises:
      ValueError: the bytes are damaged, or no state.
    """
    start = len(_MAGIC) + 8
    if not data.startswith(_MAGIC) or len(data) < start + 4:
        raise ValueError("no state of a run is in it")
    if struct.unpack("<I", data[-4:])[0] != masked_crc(data[:-4]):
        raise ValueError("wrong checksum")
    (length,) = struct.unpack("<Q", data[len(_MAGIC) : start])
    return _Reader(memoryview(data)[start + length :]).value(json.loads(data[start : start + length]))


def _describe(state: State, parts: list[bytes]) -> Any:
    """JSON description of a value for the header. Contents of byte strings and arrays are appended to ``parts``."""
    if state is None or isinstance(state, bool | int | float | str):
        return state
    if isinstance(state, list | tuple):
        return [_describe(v, parts) for v in state]
    if isinstance(state, dict):
        return {"dict": [[_describe(k, parts), _describe(v, parts)] for k, v in state.items()]}
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
    """Cursor over the contents: builds the values that a header describes, in the order in which they were written."""

    def __init__(self, data: memoryview):
        self._data = data
        self._place = 0

    def _take(self, size: int) -> memoryview:
        self._place += size
        return self._data[self._place - size : self._place]

    def value(self, described: Any) -> State:
        if isinstance(described, list):
            return [self.value(v) for v in described]
        if not isinstance(described, dict):
            return described
        ((kind, encoding),) = described.items()
        if kind == "dict":
            return {self.value(k): self.value(v) for k, v in encoding}
        if kind == "bytes":
            return bytes(self._take(encoding))
        code, shape, size = encoding
        data = self._take(size)
        if code == dtypes.STRING:
            return string_codec.decode(data, int(np.prod(shape, dtype=np.int64)), None).reshape(shape)
        return np.frombuffer(data, dtypes.type_of(code)).reshape(shape)
