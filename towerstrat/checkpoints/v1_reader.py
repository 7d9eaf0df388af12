"""Reader of TensorFlow's V1 checkpoints: one sorted table per shard, with metadata and values as protocol messages.

A V1 checkpoint is a file, or several that were saved sharded; each is a table (``sorted_tables``) of its own:

    key                                      value (a SavedTensorSlices message)
    (empty)                                  meta: per array in this file its name, dtype, shape and slices
    name and slice (``Slice.key``)           data: a TensorProto with the slice's elements, in a field of their dtype

Every array is saved in slices here, a whole one as a single slice of all of it; the slices of one array may lie in
several files. The tables' metadata are read when the checkpoint is opened, the elements when an array is asked for. A
``FirstFormat`` has the members of ``bundle_reader.Bundle`` that the rest of the package uses
(``checkpoint_file.Checkpoint``). Nothing writes this format, so that the example makes its file by hand:

>>> import os, tempfile
>>> meta, stored = messages.SavedTensorSlices(), messages.SavedTensorSlices()
>>> array = meta.meta.tensor.add(name="w", type=1)          # 1: DT_FLOAT
>>> _ = array.shape.dim.add(size=2), array.slice.add().extent.add()         # an empty extent: all of the dimension
>>> stored.data.data.float_val.extend([1.0, 2.0])
>>> items = [(b"", meta.SerializeToString()), (Slice((0,), (-1,)).key("w"), stored.SerializeToString())]
>>> with tempfile.TemporaryDirectory() as folder:
...     path = os.path.join(folder, "model.ckpt-0")
...     with open(path, "wb") as file:
...         _ = file.write(sorted_tables.encode(items))
...     FirstFormat([path]).read("w")
array([1., 2.], dtype=float32)

Source: ``tensorflow/core/util/tensor_slice_reader.cc``, ``saved_tensor_slice.proto``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import EllipsisType

import numpy as np
from google.protobuf.message import DecodeError

from towerstrat.checkpoints import dtypes, sorted_tables
from towerstrat.checkpoints.bundle_reader import Array, Entry
from towerstrat.checkpoints.slices import Slice
from towerstrat.errors import DataLossError, NotFoundError, UnimplementedError
from towerstrat.platform import messages
from towerstrat.platform.storage import storage_of

_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int64": "int64_val", "string": "string_val",
    "bool": "bool_val", "complex64": "scomplex_val", "complex128": "dcomplex_val",
    "float16": "half_val", "bfloat16": "half_val", "uint32": "uint32_val", "uint64": "uint64_val",
}  # fmt: skip
"""dtype -> field of a ``TensorProto`` that holds the elements; ``int_val`` for others (small and quantized ints)."""


class FirstFormat:
    """An open V1 checkpoint.

    Args:
      paths: its files; several where it was saved sharded.

    Attributes:
      entries: array name -> entry, sorted by name. Only ``code``, ``shape`` and ``slices`` of an entry are set.

    Raises:
      NotFoundError: there is no such file. DataLossError: a file is damaged, or no table.
    """

    def __init__(self, paths: Sequence[str]):
        self._paths = list(paths)
        self._tables: dict[str, sorted_tables.Table] = {}
        self._places: dict[tuple[str, Slice], str] = {}
        self.entries: Mapping[str, Entry] = {}
        entries: dict[str, Entry] = {}
        for path in paths:
            try:
                self._tables[path] = sorted_tables.Table(storage_of(path).ranges(path))
                meta = messages.SavedTensorSlices.FromString(self._tables[path].get(b"") or b"").meta
            except (ValueError, DecodeError) as error:
                raise DataLossError(None, None, f"{path}: {error}.") from None
            for array in meta.tensor:
                self._enter(entries, path, array)
        self.entries = dict(sorted(entries.items()))

    def _enter(self, entries: dict[str, Entry], path: str, array: messages.SavedSliceMeta) -> None:
        shape = tuple(d.size for d in array.shape.dim)
        slices = tuple(Slice.of(s) for s in array.slice)
        self._places.update(((array.name, part), path) for part in slices)
        before = entries[array.name].slices if array.name in entries else ()
        entries[array.name] = Entry(array.type, shape, 0, 0, 0, 0, before + slices)

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def read(self, name: str) -> Array:
        """Read the array ``name``, assembled from its slices. Strings come as an object array of bytes.

        Raises:
          NotFoundError: there is no such array. DataLossError: its bytes are damaged. UnimplementedError: its elements
            are neither numbers nor strings.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise NotFoundError(None, None, f"Key {name} not found in checkpoint {', '.join(self._paths)}.")
        try:
            dtype = dtypes.type_of(entry.code)
        except ValueError as error:
            raise UnimplementedError(None, None, f"{self._paths[0]}, {name}: {error}.") from None
        parts = [(part, self._part(name, part, entry)) for part in entry.slices]
        try:
            if sum(values.size for _, values in parts) != math.prod(entry.shape):
                raise ValueError(f"the parts do not make an array of shape {list(entry.shape)}")
            array = np.empty(entry.shape, dtype)
            for part, values in parts:
                # The ellipsis makes ``array[index]`` an array for shape [] too, and no scalar.
                index: tuple[slice | EllipsisType, ...] = (*part.within(entry.shape), ...)
                array[index] = values.reshape(array[index].shape)
        except ValueError as error:
            raise self._damage_error(name, str(error)) from None
        return array

    def _part(self, name: str, part: Slice, entry: Entry) -> Array:
        """Read the elements of one slice, as an array of one dimension."""
        try:
            stored = self._tables[self._places[name, part]].get(part.key(name))
            if stored is None:
                raise ValueError(f"the part {part} is missing")
            return _flat(messages.SavedTensorSlices.FromString(stored).data.data, entry.code)
        except (ValueError, DecodeError) as error:
            raise self._damage_error(name, str(error)) from None

    def _damage_error(self, name: str, description: str) -> DataLossError:
        return DataLossError(None, None, f"{', '.join(self._paths)}, array {name}: {description}.")


def _flat(message: messages.TensorProto, code: int) -> Array:
    """The elements of a ``TensorProto``, flat, in their numpy dtype; 16-bit floats are stored as their bits in ints."""
    dtype, field = dtypes.type_of(code), _FIELDS.get(dtypes.name_of(code), "int_val")
    values = getattr(message, field)
    if dtype.hasobject:
        strings = np.empty(len(values), object)
        strings[:] = list(values)
        return strings
    if field == "half_val":
        return np.array(values, np.uint16).view(dtype)
    if dtype.kind == "c":
        return np.array(values, f"f{dtype.itemsize // 2}").view(dtype)
    return np.array(values).astype(dtype)
