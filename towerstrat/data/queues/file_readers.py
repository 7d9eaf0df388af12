"""``tf.TFRecordReader`` and its kin: records of the files that a queue names, one for each run.

Sources: ``tensorflow/python/ops/io_ops.py``, ``tensorflow/core/framework/reader_base.cc``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.data.files import record_nodes
from towerstrat.data.files.record_nodes import scalar_string
from towerstrat.data.queues.queues import QueueBase
from towerstrat.data.readers import lmdb_datasets
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op, nothing, scalar
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import Array, int64, resource, string
from towerstrat.graph.ops.host.python_calls import check_place
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.platform.compressed import opened
from towerstrat.platform.record_files import TFRecordOptions

Entries = Iterator[tuple[str | bytes, bytes]]
"""Keys and records of a file."""


class ReaderRead(NamedTuple):
    """The key and the value of a record."""

    key: Tensor
    value: Tensor


class ReaderReadUpTo(NamedTuple):
    """The keys and the values of some records."""

    keys: Tensor
    values: Tensor


class _Reading:
    """Where a reader is, in a session."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.current: Entries | None = None
        self.produced = 0
        self.completed = 0


class ReaderBase:
    """What readers share. Each session reads for itself.

    A reader takes the name of a file from a queue, gives its records one by one, and takes the next name. Operations
    run on the host: not inside towers or step loops.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False):
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    def _make(self, name: str | None) -> None:
        """Raises RuntimeError under eager execution, UnsupportedError inside of towers."""
        kind = type(self).__name__
        if get_default_graph().executing_eagerly:
            raise RuntimeError(
                "Readers are not supported when eager execution is enabled. Instead, please use tf.data to get data "
                "into your model."
            )
        check_place(f"tf.{kind}")
        ReaderBase.__init__(self, get_default_graph().add("Reader", (), {"type": kind}, name or kind).outputs[0])

    def _entries(self, work: str) -> Entries:
        """The keys and records of a file."""
        raise NotImplementedError

    def _reading(self, session: Runner) -> _Reading:
        found: _Reading = session.resource(("reader", self), _Reading)
        return found

    def _taken(self, session: Runner, queue: QueueBase, op: Operation, count: int) -> list[tuple[str | bytes, bytes]]:
        """The next record and those after it in its file, up to ``count``. Raises OutOfRangeError where all are read.

        The queue's closing ends a reader, as it does what waits for the queue.
        """
        state, names = self._reading(session), queue._state(session, op)
        found: list[tuple[str | bytes, bytes]] = []
        with session.unlocked(), state.lock:
            while not found:
                if state.current is None:
                    name = names.take(1, False, op, session)[0][0].item()
                    state.current = self._entries(os.fsdecode(name))
                for entry in state.current:
                    found.append(entry)
                    if len(found) == count:
                        break
                else:
                    state.current = None
                    state.completed += 1
            state.produced += len(found)
        return found

    @property
    def reader_ref(self) -> Tensor:
        """The tensor that stands for the reader in its graph."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the reader's state can be had as a string: it cannot."""
        return self._supports_serialize

    def _add(self, type: str, what: str, inputs: Sequence[Tensor] = (), name: str | None = None, **attrs: Any) -> Any:
        check_place(f"tf.{self.__class__.__name__}.{what}")
        return get_default_graph().add(type, inputs, {"_reader": self, **attrs}, name or type)

    def read(self, queue: QueueBase, name: str | None = None) -> ReaderRead:
        """The next record, as (key, value), two scalar strings.

        Args:
          queue: of the names of files.

        Raises:
          OutOfRangeError: from ``Session.run``: the queue is closed and empty, and all was read.
        """
        return ReaderRead(*self._add("ReaderReadV2", "read", name=name, _queue=queue).outputs)

    def read_up_to(self, queue: QueueBase, num_records: Any, name: str | None = None) -> ReaderReadUpTo:
        """The next records of a file, up to ``num_records``, as (keys, values), vectors of strings. See ``read``."""
        count = convert_to_tensor(num_records, int64)
        return ReaderReadUpTo(*self._add("ReaderReadUpToV2", "read_up_to", [count], name, _queue=queue).outputs)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records were read, an int64 scalar."""
        found: Tensor = self._add("ReaderNumRecordsProducedV2", "num_records_produced", name=name).outputs[0]
        return found

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files were read to their ends, an int64 scalar."""
        found: Tensor = self._add("ReaderNumWorkUnitsCompletedV2", "num_work_units_completed", name=name).outputs[0]
        return found

    def reset(self, name: str | None = None) -> Operation:
        """Forgets where the reader is: the next record is of the next file."""
        found: Operation = self._add("ReaderResetV2", "reset", name=name)
        return found

    def serialize_state(self, name: str | None = None) -> Tensor:
        raise UnsupportedError(
            f"{type(self).__name__}.serialize_state: a reader's state is not to be had; use tf.data."
        )

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        raise UnsupportedError(f"{type(self).__name__}.restore_state: a reader has no such state; use tf.data.")


class TFRecordReader(ReaderBase):
    """Reads TFRecord files. Keys are ``FILE:POSITION``.

    Args:
      options: ``TFRecordOptions``, or the type of compression.
    """

    def __init__(self, name: str | None = None, options: Any = None):
        self._compression = TFRecordOptions.get_compression_type_string(options)
        self._make(name)

    def _entries(self, work: str) -> Entries:
        start = 0
        for found, positions in record_nodes.framed(work, 0, self._compression):
            for record, position in zip(found, positions, strict=True):
                yield f"{work}:{start}", record
                start = position


class TextLineReader(ReaderBase):
    """Reads the lines of text files. Keys are ``FILE:LINE``, counted from 1.

    Args:
      skip_header_lines: how many lines of each file are left out.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None):
        self._skipped = skip_header_lines or 0
        self._make(name)

    def _entries(self, work: str) -> Entries:
        with opened(work, "") as file:
            for number, line in enumerate(file, 1):
                if number > self._skipped:
                    yield f"{work}:{number}", line.removesuffix(b"\n").removesuffix(b"\r")


class FixedLengthRecordReader(ReaderBase):
    """Reads records of one length. Keys are ``FILE:RECORD``, counted from 0.

    Args:
      record_bytes: the length.
      header_bytes, footer_bytes: of each file, left out.
      hop_bytes: how far the beginnings of records are apart; default ``record_bytes``.
      encoding: "ZLIB" or "GZIP" where files are compressed.
    """

    def __init__(
        self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None,
        hop_bytes: int | None = None, name: str | None = None, encoding: str | None = None,
    ):  # fmt: skip
        self._length, self._header, self._footer = record_bytes, header_bytes or 0, footer_bytes or 0
        self._hop = hop_bytes or record_bytes
        self._compression = TFRecordOptions.get_compression_type_string(encoding)
        self._make(name)

    def _entries(self, work: str) -> Entries:
        with opened(work, self._compression) as file:
            content = file.read()
        starts = range(self._header, len(content) - self._footer - self._length + 1, self._hop)
        for number, start in enumerate(starts):
            yield f"{work}:{number}", content[start : start + self._length]


class WholeFileReader(ReaderBase):
    """Reads files whole. Keys are their names."""

    def __init__(self, name: str | None = None):
        self._make(name)

    def _entries(self, work: str) -> Entries:
        with opened(work, "") as file:
            yield work, file.read()


class IdentityReader(ReaderBase):
    """Gives the entries of the queue themselves, as keys and values."""

    def __init__(self, name: str | None = None):
        self._make(name)

    def _entries(self, work: str) -> Entries:
        yield work, work.encode()


class LMDBReader(ReaderBase):
    """Reads the entries of LMDB databases, by the package ``lmdb``, in the order of their keys.

    Args:
      options: None; the original took some and used none.

    Raises:
      UnsupportedError: the package is not installed.
    """

    def __init__(self, name: str | None = None, options: Any = None):
        lmdb_datasets.check_there()
        self._make(name)

    def _entries(self, work: str) -> Entries:
        return lmdb_datasets.entries(work)


def _key(key: str | bytes) -> bytes:
    return key if isinstance(key, bytes) else key.encode()


# ---- when they run ---------------------------------------------------------------------------------------------------


def _read(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    ((key, value),) = op.attrs["_reader"]._taken(session, op.attrs["_queue"], op, 1)
    return [scalar_string(_key(key)), scalar_string(value)]


def _read_up_to(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    found = op.attrs["_reader"]._taken(session, op.attrs["_queue"], op, int(values[0]))
    results = np.empty((2, len(found)), object)
    for place, (key, value) in enumerate(found):
        results[:, place] = _key(key), value
    return list(results)


def _count(attribute: str) -> Any:
    def count(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
        return [np.asarray(getattr(op.attrs["_reader"]._reading(session), attribute), np.int64)]

    return count


def _reset(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    op.attrs["_reader"]._reading(session).reset()
    return []


def _strings(dims: Any) -> Any:
    def rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
        return [Signature(string, dims)] * 2

    return rule


def _define(type: str, rule: Any, host: Any) -> None:
    define_op(type, rule, host=host, stateful=True, differentiable=False, hidden=("_reader", "_queue"))


define_op("Reader", scalar(resource), differentiable=False)
_define("ReaderReadV2", _strings(()), _read)
_define("ReaderReadUpToV2", _strings((None,)), _read_up_to)
_define("ReaderNumRecordsProducedV2", scalar(int64), _count("produced"))
_define("ReaderNumWorkUnitsCompletedV2", scalar(int64), _count("completed"))
_define("ReaderResetV2", nothing, _reset)
