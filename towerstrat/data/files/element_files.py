"""Elements in files: each a record of serialized tensors, after one that says what they look like.

The files are TFRecord files; what is in them is ours, and the original does not read it.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from towerstrat.checkpoints.varint import read_varint, write_varint
from towerstrat.data.elements.structure import RaggedParts, SparseParts, Structure, is_unit, ragged_parts
from towerstrat.data.elements.tensor_protos import tensor_of, tensor_text
from towerstrat.data.elements.types import Array, Element
from towerstrat.data.pipeline.fingerprint import whole_checksum
from towerstrat.data.pipeline.iterator_state import Stateless
from towerstrat.data.pipeline.nodes import DatasetNode, ElementIterator, IteratorContext
from towerstrat.errors import InvalidArgumentError, NotFoundError
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.platform import files
from towerstrat.platform.plain import State
from towerstrat.platform.record_files import TFRecordWriter, tf_record_iterator

_FORMAT = "towerstrat elements 1"


# ---- what elements look like -----------------------------------------------------------------------------------------


def described(structure: Structure) -> Any:
    """A structure as what JSON can say. Named tuples become tuples. Raises TypeError for datasets in elements."""
    if any(structure.nested):
        raise TypeError("Elements with datasets in them are not written to files; write the elements of each.")
    parts = iter(structure.split())

    def form(template: Any) -> Any:
        if is_unit(template):
            return _unit(next(parts))
        children = [form(child) for child in nest.children(template)]
        if isinstance(template, Mapping):
            return {"dict": dict(zip(sorted(template), children, strict=True))}
        return {"tuple": children}

    return form(structure.template)


def _unit(part: Structure) -> Any:
    form = part.template
    kind = "sparse" if isinstance(form, SparseParts) else "ragged" if isinstance(form, RaggedParts) else "dense"
    dims = [None if d is None else list(d) for d in part.dims]
    return {kind: [[t.name for t in part.dtypes], dims, form.splits_dtype.name if kind == "ragged" else ""]}


def restored(description: Any) -> Structure:
    """The structure of a description."""
    ((kind, content),) = description.items()
    if kind == "dict":
        return Structure.joined({key: restored(value) for key, value in content.items()})
    if kind == "tuple":
        return Structure.joined(tuple([restored(value) for value in content]))
    names, dims, splits = content
    template: Any = None
    if kind == "sparse":
        template = SparseParts(None, None, None)
    elif kind == "ragged":
        template = ragged_parts(as_dtype(splits))([None] * len(names))
    return Structure(template, [as_dtype(n) for n in names], [None if d is None else tuple(d) for d in dims])


# ---- records ---------------------------------------------------------------------------------------------------------


def _record(element: Element) -> bytes:
    texts = [tensor_text(array) for array in element]
    return b"".join(part for text in texts for part in (write_varint(len(text)), text))


def _element(record: bytes) -> Element:
    found: list[Array] = []
    place = 0
    while place < len(record):
        size, place = read_varint(record, place)
        found.append(tensor_of(record[place : place + size]))
        place += size
    return found


class ElementWriter:
    """Writes elements to a file, which is there once it is closed.

    Args:
      path: of the file.
      compression: "", "GZIP" or "ZLIB".
    """

    def __init__(self, path: str, structure: Structure, compression: str = ""):
        self.path = path
        self._own = f"{path}.{os.getpid()}.{id(self):x}.tmp"
        folder = os.path.dirname(path)
        if folder:
            files.MakeDirs(folder)
        self._file = TFRecordWriter(self._own, compression)
        self._file.write(json.dumps({"format": _FORMAT, "elements": described(structure)}))

    def write(self, element: Element) -> None:
        self._file.write(_record(element))

    def close(self) -> None:
        """Puts the file in its place."""
        self._file.close()
        files.Rename(self._own, self.path, overwrite=True)

    def discard(self) -> None:
        """Leaves no file behind."""
        self._file.close()
        files.Remove(self._own)


def described_in(path: str, compression: str = "") -> Any:
    """The description at the beginning of a file. Raises InvalidArgumentError where it has none."""
    for record in tf_record_iterator(path, compression):
        try:
            found = json.loads(record)
            if found["format"] == _FORMAT:
                return found["elements"]
        except (ValueError, KeyError, TypeError):
            pass
        break
    raise InvalidArgumentError(None, None, f"{path} is no file of elements that towerstrat wrote.")


def elements_in(path: str, structure: Structure, compression: str = "") -> Iterator[Element]:
    """The elements in a file. Raises InvalidArgumentError where they are of other types."""
    found = restored(described_in(path, compression))
    try:
        structure.check_types(found, f"elements in {path}")
    except TypeError as error:
        raise InvalidArgumentError(None, None, str(error)) from None
    records = tf_record_iterator(path, compression)
    next(records)
    return map(_element, records)


class FilePull(ElementIterator):
    """The elements in files, one file after the other."""

    checkpointed = {"taken": "taken"}

    def __init__(self, paths: Sequence[str], structure: Structure, compression: str):
        self.paths = paths
        self.structure = structure
        self.compression = compression
        self.taken = 0
        self._elements: Iterator[Element] | None = None

    def _all(self) -> Iterator[Element]:
        for path in self.paths:
            yield from elements_in(path, self.structure, self.compression)

    def __next__(self) -> Element:
        if self._elements is None:
            self._elements = self._all()
            for _ in range(self.taken):
                next(self._elements)
        element = next(self._elements)
        self.taken += 1
        return element


class ElementFile(DatasetNode):
    """The elements in files."""

    kind = "ElementFile"

    def __init__(self, paths: Sequence[str], structure: Structure, compression: str = ""):
        self.paths = tuple(paths)
        self.structure = structure
        self.compression = compression

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        return FilePull(self.paths, self.structure, self.compression)


class WritingPull(ElementIterator):
    """Elements that are written to a file as they are taken; the file is there when the last one was."""

    def __init__(self, source: Iterator[Element], writer: ElementWriter):
        self.source = source
        self.writer = writer
        self._discard = weakref.finalize(self, writer.discard)

    def __next__(self) -> Element:
        try:
            element = next(self.source)
        except StopIteration:
            if self._discard.detach() is not None:
                self.writer.close()
            raise
        self.writer.write(element)
        return element

    def state(self) -> State:
        """Raises Stateless: elements are taken again, since the file begins anew."""
        raise Stateless("elements that are being written to a file")

    def resume(self, state: State) -> None:
        """Goes to the place of a pass over the file, which is no longer there."""
        for _ in range(state["taken"]):
            next(self)


class FileCache(DatasetNode):
    """The elements of its child, which the first whole pass writes to a file; later passes read that.

    Args:
      path: of the file, a string or a tensor.
    """

    kind = "FileCache"

    def __init__(self, child: DatasetNode, path: Any, compression: str = ""):
        self.children = (child,)
        self.path = path
        self.compression = compression
        self.structure = child.structure
        described(self.structure)
        self.tensors = (path,) if isinstance(path, Tensor) else ()

    def cardinality(self) -> int:
        return self.children[0].cardinality()

    def _file(self, opening: IteratorContext) -> str:
        given = opening.value(self.path)
        return given.decode() if isinstance(given, bytes) else str(given)

    def open(self, opening: IteratorContext) -> Iterator[Element]:
        path = self._file(opening)
        if files.Exists(path):
            return FilePull([path], self.structure, self.compression)
        return WritingPull(self.children[0].open(opening), ElementWriter(path, self.structure, self.compression))


class Snapshot(FileCache):
    """As ``FileCache``, with a file of its own in a folder for each pipeline: what it consists of names the file."""

    kind = "Snapshot"

    def _file(self, opening: IteratorContext) -> str:
        return os.path.join(super()._file(opening), f"{whole_checksum(self.children[0], opening):08x}.elements")


# ---- folders ---------------------------------------------------------------------------------------------------------


class Shards:
    """A folder with a file of elements for each shard."""

    def __init__(self, folder: str, compression: str = ""):
        self.folder = folder
        self.compression = compression

    def path(self, shard: int) -> str:
        return os.path.join(self.folder, f"shard-{shard:05d}.elements")

    def paths(self) -> list[str]:
        """The files. Raises NotFoundError where there are none."""
        found = sorted(files.Glob(os.path.join(self.folder, "shard-*.elements")))
        if not found:
            raise NotFoundError(None, None, f"There are no elements in {self.folder}: Dataset.save writes them.")
        return found

    def clear(self) -> None:
        """Removes the files of an earlier time."""
        for path in files.Glob(os.path.join(self.folder, "shard-*.elements")):
            files.Remove(path)
