"""Data sets that were written as pickles, read as data: numbers, texts, lists, dictionaries and arrays, and no code.

A pickle is a program for a stack machine that may call any function of Python. Here only what numpy arrays are made of
is known; a pickle that names anything else is damaged. Source: the opcodes of Python's ``pickletools``.
"""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from towerstrat.errors import DataLossError

_RECONSTRUCT, _FROM_BUFFER, _ENCODE, _ARRAY, _DTYPE = "_reconstruct", "_frombuffer", "encode", "ndarray", "dtype"
_BYTES = "bytes"
_KNOWN = {
    **{(f"numpy.{core}.multiarray", _RECONSTRUCT): _RECONSTRUCT for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", _FROM_BUFFER): _FROM_BUFFER for core in ("core", "_core")},
    ("numpy", "ndarray"): _ARRAY,
    ("numpy", "dtype"): _DTYPE,
    ("_codecs", "encode"): _ENCODE,
    ("__builtin__", "bytes"): _BYTES,
}
"""(module, name) of what pickles of arrays call."""
_ELEMENTS = re.compile(r"([biufcSU]\d{1,6}|O\d?)$")


_EXPECTED = "numbers, texts, lists, dictionaries and arrays"


class _Damaged(ValueError):
    """The bytes are no pickle of such values."""


class _Global(str):
    """One of the functions and classes that are known."""


class _Unbuilt:
    """An array or a dtype before its state is known.

    Attributes:
      elements: of a dtype, the kind and size of an element; keys: where it is remembered.
    """

    def __init__(self, elements: str | None = None):
        self.elements = elements
        self.keys: list[int] = []


def read(data: bytes, path: str) -> Any:
    """The value of a pickle of protocol 1 to 5. Texts that Python 2 wrote are bytes.

    Args:
      path: where it is from, for messages.

    Raises:
      DataLossError: the bytes are no pickle, or one of other values.
    """
    try:
        return _Machine(data).run()
    except _WRONG as error:
        raise DataLossError(None, None, f"{path}: {_describe(error)}.") from None


_WRONG = (
    ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, MemoryError, struct.error, OSError,
    EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""The errors that reading damaged bytes ends in."""


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, _Damaged) else f"expected {_EXPECTED}, and the file is damaged: {error!r}"


class _Machine:
    """Runs the program that a pickle is."""

    def __init__(self, data: bytes):
        self._data = data
        self._place = 0
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._unbuilt = 0

    def run(self) -> Any:
        data, operations = self._data, _OPERATIONS
        while True:
            code = data[self._place]
            self._place += 1
            if code == 0x4B:  # lists of small numbers are most of what there is
                self._stack.append(data[self._place])
                self._place += 1
            elif code == 0x4D:
                self._stack.append(data[self._place] | data[self._place + 1] << 8)
                self._place += 2
            elif code == 0x2E:
                if self._unbuilt or len(self._stack) != 1 or self._below:
                    raise _Damaged(f"the pickle ends too early, at {self._place}")
                return self._stack[0]
            elif code in operations:
                operations[code](self)
            else:
                raise _Damaged(f"expected {_EXPECTED}, got operation {code:#x}")

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def take(self, size: int) -> bytes:
        """The next bytes of the pickle."""
        start, self._place = self._place, self._place + size
        if size < 0 or self._place > len(self._data):
            raise _Damaged(f"the pickle ends too early, at {len(self._data)}")
        return self._data[start : self._place]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        end = self._data.index(b"\n", self._place)
        found = self._data[self._place : end].decode()
        self._place = end + 1
        return found

    def mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def pop_to_mark(self) -> list[Any]:
        """The values pushed since the last mark."""
        found, self._stack = self._stack, self._below.pop()
        return found

    def pop(self, count: int) -> tuple[Any, ...]:
        return tuple(reversed([self._stack.pop() for _ in range(count)]))

    def remember(self, key: int) -> None:
        value = self._memo[key] = self._stack[-1]
        if isinstance(value, _Unbuilt):
            value.keys.append(key)

    def memoize(self) -> None:
        self.remember(len(self._memo))

    def recall(self, key: int) -> None:
        self._stack.append(self._memo[key])

    def extend(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list:
            raise _Damaged(f"expected a list, got {type(target).__name__}")
        target.extend(values)

    def insert(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not dict:
            raise _Damaged(f"expected a dictionary, got {type(target).__name__}")
        target.update(zip(values[::2], values[1::2], strict=True))

    def name(self, module: str, name: str) -> None:
        if (module, name) not in _KNOWN:
            raise _Damaged(f"expected {_EXPECTED}, got {module}.{name}")
        self._stack.append(_Global(_KNOWN[module, name]))

    def stack_name(self) -> None:
        name = self._stack.pop()
        self.name(self._stack.pop(), name)

    def reduce(self) -> None:
        arguments = self._stack.pop()
        function = self._stack.pop()
        if not isinstance(function, _Global) or not isinstance(arguments, tuple):
            raise _Damaged(f"expected a function of numpy, got {type(function).__name__}")
        if function == _RECONSTRUCT:
            self._begin(_Unbuilt())
        elif function == _DTYPE:
            self._begin(_Unbuilt(_text(arguments[0])))
        elif function == _FROM_BUFFER:
            data, dtype, shape, order = arguments
            self._stack.append(_array(shape, dtype, order == "F", data))
        elif function == _ENCODE and arguments[1] == "latin1":
            self._stack.append(arguments[0].encode("latin1"))
        elif function == _BYTES and arguments == ():
            self._stack.append(b"")
        else:
            raise _Damaged(f"expected an array, got a call of {function}")

    def _begin(self, value: _Unbuilt) -> None:
        self._unbuilt += 1
        self._stack.append(value)

    def build(self) -> None:
        """Gives an array or a dtype its state."""
        state = self._stack.pop()
        begun = self._stack.pop()
        if not isinstance(begun, _Unbuilt):
            raise _Damaged(f"expected an array, got {type(begun).__name__}")
        built = _array(*state[1:5]) if begun.elements is None else _dtype(begun.elements, _text(state[1]))
        self._stack.append(built)
        self._memo.update(dict.fromkeys(begun.keys, built))
        self._unbuilt -= 1


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _dtype(elements: str, order: str) -> np.dtype[Any]:
    if not _ELEMENTS.match(elements) or order not in ("<", ">", "|", "="):
        raise _Damaged(f"expected numbers, got elements {order}{elements}")
    return np.dtype(object) if elements[0] == "O" else np.dtype(order + elements)


def _array(shape: Any, dtype: Any, columns_first: Any, values: Any) -> npt.NDArray[Any]:
    if not isinstance(dtype, np.dtype) or not isinstance(shape, tuple):
        raise _Damaged(f"expected an array of a shape and a dtype, got {shape!r} and {dtype!r}")
    order: Literal["C", "F"] = "F" if columns_first else "C"
    if not dtype.hasobject:
        return np.frombuffer(values, dtype).reshape(shape, order=order).copy(order)
    if not isinstance(values, list) or math.prod(shape) != len(values):
        raise _Damaged(f"expected a list of the {math.prod(shape)} values of an array of shape {shape}")
    found = np.empty(len(values), object)
    for i, value in enumerate(values):  # of sequences that are equally long numpy would make one array
        found[i] = value
    return found.reshape(shape, order=order)


_OPERATIONS: dict[int, Callable[[_Machine], None]] = {
    code[0]: operation
    for code, operation in {
        b"\x80": lambda m: m.take(1) and None,
        b"\x95": lambda m: m.take(8) and None,
        b"(": _Machine.mark,
        b"0": lambda m: m.pop(1) and None,
        b"1": lambda m: m.pop_to_mark() and None,
        b"2": lambda m: m.push(m._stack[-1]),
        b"N": lambda m: m.push(None),
        b"\x88": lambda m: m.push(True),
        b"\x89": lambda m: m.push(False),
        b"J": lambda m: m.push(m.number("<i")),
        b"I": lambda m: m.push({"00": False, "01": True}[m.line()]),
        b"L": lambda m: m.push(int(m.line().removesuffix("L"))),
        b"\x8a": lambda m: m.push(int.from_bytes(m.take(m.number("<B")), "little", signed=True)),
        b"G": lambda m: m.push(m.number(">d")),
        b"T": lambda m: m.push(m.take(m.number("<i"))),
        b"U": lambda m: m.push(m.take(m.number("<B"))),
        b"B": lambda m: m.push(m.take(m.number("<I"))),
        b"C": lambda m: m.push(m.take(m.number("<B"))),
        b"\x8e": lambda m: m.push(m.take(m.number("<Q"))),
        b"\x96": lambda m: m.push(m.take(m.number("<Q"))),
        b"X": lambda m: m.push(m.take(m.number("<I")).decode()),
        b"\x8c": lambda m: m.push(m.take(m.number("<B")).decode()),
        b"\x8d": lambda m: m.push(m.take(m.number("<Q")).decode()),
        b"]": lambda m: m.push([]),
        b"l": lambda m: m.push(m.pop_to_mark()),
        b"a": lambda m: m.extend([m._stack.pop()]),
        b"e": lambda m: m.extend(m.pop_to_mark()),
        b"}": lambda m: m.push({}),
        b"s": lambda m: m.insert(list(m.pop(2))),
        b"u": lambda m: m.insert(m.pop_to_mark()),
        b")": lambda m: m.push(()),
        b"\x85": lambda m: m.push(m.pop(1)),
        b"\x86": lambda m: m.push(m.pop(2)),
        b"\x87": lambda m: m.push(m.pop(3)),
        b"t": lambda m: m.push(tuple(m.pop_to_mark())),
        b"q": lambda m: m.remember(m.number("<B")),
        b"r": lambda m: m.remember(m.number("<I")),
        b"\x94": _Machine.memoize,
        b"h": lambda m: m.recall(m.number("<B")),
        b"j": lambda m: m.recall(m.number("<I")),
        b"c": lambda m: m.name(m.line(), m.line()),
        b"\x93": _Machine.stack_name,
        b"R": _Machine.reduce,
        b"b": _Machine.build,
    }.items()
}
"""Operation code -> what it does."""


# ---- files of arrays -----------------------------------------------------------------------------------------------


class Arrays(dict[str, npt.NDArray[Any]]):
    """The arrays of a ``.npz`` file by name; a context manager, as what ``np.load`` returns is."""

    def __enter__(self) -> Arrays:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


def read_arrays(data: bytes, path: str) -> Arrays:
    """The arrays of a ``.npz`` file, those of Python objects too.

    Raises:
      DataLossError: the file is damaged, or has other objects than numbers, texts, lists, dictionaries and arrays.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            return Arrays({name.removesuffix(".npy"): _member(packed.read(name)) for name in packed.namelist()})
    except _WRONG as error:
        raise DataLossError(None, None, f"{path}: {_describe(error)}.") from None


def _member(data: bytes) -> npt.NDArray[Any]:
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, columns_first, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, columns_first, dtype = np.lib.format.read_array_header_2_0(file)
    if not dtype.hasobject:
        file.seek(0)
        found: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return found
    values = _Machine(data[file.tell() :]).run()
    if not isinstance(values, np.ndarray) or not values.dtype.hasobject:
        raise _Damaged(f"expected an array of Python's objects, got {type(values).__name__}")
    return values.reshape(shape, order="F" if columns_first else "C")
