"""Checkpoints as other files: numpy's ``.npz``, ``.safetensors``, and checkpoints with other names."""

from __future__ import annotations

import json
import math
import re
import struct
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from towerstrat.checkpoints import dtypes
from towerstrat.checkpoints.bundle_reader import Array
from towerstrat.checkpoints.bundle_writer import Saved, write
from towerstrat.checkpoints.checkpoint_file import Checkpoint
from towerstrat.checkpoints.object_graph_keys import OBJECT_GRAPH, objects_of_names
from towerstrat.errors import UnsupportedError
from towerstrat.platform.storage import storage_of


def renamed(names: Iterable[str], patterns: Iterable[Sequence[str]]) -> dict[str, str]:
    r"""New name -> old name, after replacing each pattern, a regular expression, in turn.

    Args:
      patterns: pairs of a pattern and what it is replaced with, which may have groups of it.

    Raises:
      ValueError: two arrays get one name, or a pattern is none.

    >>> renamed(["model/w", "model/b"], [(r"^model/", ""), ("b$", "bias")])
    {'w': 'model/w', 'bias': 'model/b'}
    """
    found: dict[str, str] = {}
    for name in names:
        new = name
        for pattern, replacement in patterns:
            try:
                new = re.sub(pattern, replacement, new)
            except re.error as error:
                raise ValueError(f"{pattern!r}, to be replaced with {replacement!r}: {error}.") from None
        if new in found:
            raise ValueError(f"{found[new]} and {name} would both be called {new}.")
        found[new] = name
    return found


def convert(checkpoint: Checkpoint, target: str, names: Mapping[str, str]) -> None:
    """Writes arrays of a checkpoint to another file.

    Args:
      target: a path that ends in ``.npz`` or ``.safetensors``; else the prefix of a checkpoint.
      names: new name -> name in the checkpoint.

    Raises:
      UnsupportedError: the file format does not have the elements of an array.
    """
    if target.endswith(".npz"):
        _write_npz(checkpoint, target, names)
    elif target.endswith(".safetensors"):
        _write_safetensors(checkpoint, target, names)
    else:
        write(target, _arrays(checkpoint, names))


def convert_to_objects(checkpoint: Checkpoint, target: str, names: Mapping[str, str]) -> None:
    """Writes arrays of a checkpoint as one of objects: ``a/b`` becomes the variable ``b`` of the object ``a``.

    Args:
      target: the prefix. names: new name -> name in the checkpoint.

    Raises:
      ValueError: ``target`` is a file of another format.
    """
    if target.endswith((".npz", ".safetensors")):
        raise ValueError(f"Expected the prefix of a checkpoint, which alone can hold objects, got {target}.")
    keys, graph = objects_of_names(names)
    data = np.array(graph.SerializeToString(), object)
    arrays = _arrays(checkpoint, {keys[new]: old for new, old in names.items()})
    write(target, [*arrays, Saved(OBJECT_GRAPH, lambda: data)])


def _arrays(checkpoint: Checkpoint, names: Mapping[str, str]) -> list[Saved]:
    entries = checkpoint.entries
    return [Saved(new, partial(checkpoint.read, old), code=entries[old].code) for new, old in names.items()]


def _write_npz(checkpoint: Checkpoint, target: str, names: Mapping[str, str]) -> None:
    """What ``numpy.savez`` writes, one array at a time, of any names."""
    with storage_of(target).writing(target) as file, zipfile.ZipFile(file, "w") as archive:
        for new, old in names.items():
            value = _for_numpy(old, checkpoint.read(old))
            with archive.open(f"{new}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, value, allow_pickle=False)


def _for_numpy(name: str, value: Array) -> Array:
    """An array that numpy's format keeps without pickling: strings as bytes of one length, small floats wider."""
    if value.dtype.hasobject:
        found = value.astype(np.bytes_)
        if not np.array_equal(found.astype(object), value):
            raise UnsupportedError(
                f"{name}: numpy's strings do not end in zero bytes, as some of these do; leave it out."
            )
        return found
    return value.astype(np.float32) if value.dtype.kind == "V" else value


_SAFETENSORS = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "float8_e5m2": "F8_E5M2", "float8_e4m3fn": "F8_E4M3",
}  # fmt: skip
"""Names of element types in that format. Source: github.com/huggingface/safetensors, section "Format"."""


def _write_safetensors(checkpoint: Checkpoint, target: str, names: Mapping[str, str]) -> None:
    """The length of a header, the header with each array's place, then the bytes of the arrays."""
    header, place = {}, 0
    for new, old in names.items():
        entry = checkpoint.entries[old]
        kind = dtypes.name_of(entry.code)
        if kind not in _SAFETENSORS:
            raise UnsupportedError(f"{old}: .safetensors has no elements of {kind}; leave it out, or use .npz.")
        end = place + math.prod(entry.shape) * dtypes.type_of(entry.code).itemsize
        header[new] = {"dtype": _SAFETENSORS[kind], "shape": list(entry.shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with storage_of(target).writing(target) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for old in names.values():
            file.write(checkpoint.read(old).tobytes())
