"""Convert a checkpoint to another file: ``.npz``, ``.safetensors``, or a checkpoint with other names or keys.

The writers take an open checkpoint of either format and a mapping of new name -> old name, which ``renamed`` makes.
Arrays are read and written one at a time, so that a checkpoint larger than memory can be converted. Resources and
variants cannot be read, whatever the target is.

    target             arrays that change                               what is refused
    x.npz              strings become bytes of one length (``S``),      strings that end in zero bytes
                       bfloat16 and float8 become float32
    x.safetensors      none                                             strings, complex and quantized numbers
    a prefix           none                                             nothing
    a prefix, objects  none; keys become those of an object graph       .npz and .safetensors targets

>>> import os, tempfile
>>> from towerstrat.checkpoints.checkpoint_file import opened
>>> with tempfile.TemporaryDirectory() as folder:
...     prefix, target = os.path.join(folder, "model.ckpt-100"), os.path.join(folder, "weights.npz")
...     write(prefix, [Saved("model/w", lambda: np.float32([1, 2]))])
...     convert(opened(prefix), target, renamed(["model/w"], [("^model/", "")]))
...     with np.load(target) as arrays:
...         dict(arrays)
{'w': array([1., 2.], dtype=float32)}
"""

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
    r"""Map new names to old ones, where each pattern in turn is replaced in every name (``re.sub``).

    Args:
      names: of the arrays in the checkpoint.
      patterns: pairs of a regular expression and its replacement, which may refer to groups.

    Raises:
      ValueError: two arrays get one name, or a pattern is no regular expression.

    >>> renamed(["model/w", "model/b"], [(r"^model/", ""), ("b$", "bias")])
    {'w': 'model/w', 'bias': 'model/b'}
    """
    old_names: dict[str, str] = {}
    for name in names:
        new = name
        for pattern, replacement in patterns:
            try:
                new = re.sub(pattern, replacement, new)
            except re.error as error:
                raise ValueError(f"{pattern!r}, to be replaced with {replacement!r}: {error}.") from None
        if new in old_names:
            raise ValueError(f"{old_names[new]} and {name} would both be called {new}.")
        old_names[new] = name
    return old_names


def convert(checkpoint: Checkpoint, target: str, names: Mapping[str, str]) -> None:
    """Write arrays of a checkpoint to another file, in the format that its name ends with.

    Args:
      checkpoint: an open checkpoint, which the arrays are read from one by one.
      target: a path that ends in ``.npz`` or ``.safetensors``; else the prefix of a checkpoint.
      names: new name -> name in the checkpoint.

    Raises:
      UnsupportedError: the format cannot store an array's elements.
    """
    if target.endswith(".npz"):
        _write_npz(checkpoint, target, names)
    elif target.endswith(".safetensors"):
        _write_safetensors(checkpoint, target, names)
    else:
        write(target, _arrays(checkpoint, names))


def convert_to_objects(checkpoint: Checkpoint, target: str, names: Mapping[str, str]) -> None:
    """Write an object-based checkpoint (``tf.train.Checkpoint``): ``a/b`` is the variable ``b`` of the object ``a``.

    Args:
      checkpoint: an open checkpoint, which the arrays are read from one by one.
      target: the prefix.
      names: new name, a path of objects that ends in a variable, -> name in the checkpoint.

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
    """Write a file as ``numpy.savez`` does, but one array at a time, and under names that are no Python identifiers."""
    with storage_of(target).writing(target) as file, zipfile.ZipFile(file, "w") as archive:
        for new, old in names.items():
            value = _for_numpy(old, checkpoint.read(old))
            with archive.open(f"{new}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, value, allow_pickle=False)


def _for_numpy(name: str, value: Array) -> Array:
    """Convert to a dtype that ``.npy`` stores without pickle: fixed-length bytes for strings, float32 for bfloat16.

    Raises UnsupportedError for strings that end in zero bytes, which numpy's bytes lose.
    """
    if value.dtype.hasobject:
        strings = value.astype(np.bytes_)
        if not np.array_equal(strings.astype(object), value):
            raise UnsupportedError(
                f"{name}: numpy's strings do not end in zero bytes, as some of these do; leave it out."
            )
        return strings
    return value.astype(np.float32) if value.dtype.kind == "V" else value


_SAFETENSORS = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "float8_e5m2": "F8_E5M2", "float8_e4m3fn": "F8_E4M3",
}  # fmt: skip
"""TensorFlow's name of a dtype -> the one of safetensors. Source: github.com/huggingface/safetensors, "Format"."""


def _write_safetensors(checkpoint: Checkpoint, target: str, names: Mapping[str, str]) -> None:
    """Write a safetensors file: length of the header (uint64), JSON header with each array's place, then the bytes.

    Places follow from shapes and dtypes in the index, so that no array is read before the header is written.
    """
    header, start = {}, 0
    for new, old in names.items():
        entry = checkpoint.entries[old]
        kind = dtypes.name_of(entry.code)
        if kind not in _SAFETENSORS:
            raise UnsupportedError(f"{old}: .safetensors has no elements of {kind}; leave it out, or use .npz.")
        end = start + math.prod(entry.shape) * dtypes.type_of(entry.code).itemsize
        header[new] = {"dtype": _SAFETENSORS[kind], "shape": list(entry.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with storage_of(target).writing(target) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for old in names.values():
            file.write(checkpoint.read(old).tobytes())
