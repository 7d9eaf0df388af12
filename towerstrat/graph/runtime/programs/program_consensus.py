"""Programs of several processes: before the first call of one, all of them have the same operations and values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import DType
from towerstrat.hosts.consensus import AGREEMENT

_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)


def require_same_program(what: str, operations: Sequence[Operation], signature: Any, values: Mapping[str, Any]) -> None:
    """Returns where all processes are about to run this program on these values for the first time.

    Args:
      what: the program, in words.
      operations: what it evaluates.
      signature: shapes and types of its arguments.
      values: what each process gives it that must be the same: arrays by name.

    Raises:
      FailedPreconditionError: a process has another program or other values; named by process, operation and line.
    """
    parts = {"its operations": fingerprint(operations, signature)}
    parts |= {name: _digest_of_array(value) for name, value in values.items()}

    def details() -> list[tuple[str, str]]:
        return [(_digest(repr(_described(op)).encode()), _in_words(op)) for op in _all(operations)]

    AGREEMENT.require(what, parts, details)


def fingerprint(operations: Sequence[Operation], signature: Any) -> str:
    """A text that is the same where programs are, in all processes."""
    return _digest(repr(([_described(op) for op in operations], signature)).encode())


def _all(operations: Sequence[Operation]) -> list[Operation]:
    """Operations, with those of their bodies before them."""
    return [each for op in operations for each in (*(o for body in op.bodies for o in _all(body.needed)), op)]


def _in_words(op: Operation) -> str:
    seeds = "" if op.attrs.get("seeds") is None else f", with the seeds {op.attrs['seeds']}"
    return f"{op.name} (type {op.type}{seeds}, created at {op.line})"


def _described(op: Operation) -> Any:
    attributes = [(name, _of(value)) for name, value in sorted(op.attrs.items())]
    return op.name, op.type, [t.name for t in op.inputs], [(t.dtype.name, t.dims) for t in op.outputs], attributes


def _of(value: Any) -> Any:
    """A value of an attribute as one that is written alike by all processes."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Tensor | Operation | StateVariable | DType):
        return value.name
    if isinstance(value, Block):
        return [_described(op) for op in value.needed]
    if isinstance(value, np.ndarray | jax.Array):
        return _digest_of_array(value)
    if isinstance(value, Axis):
        return repr(value)
    if isinstance(value, Mapping):
        return [(_of(key), _of(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [_of(each) for each in value]
    return type(value).__qualname__


def _digest_of_array(value: Any) -> str:
    host = np.asarray(value)
    data = repr(host.tolist()).encode() if host.dtype.hasobject else np.ascontiguousarray(host).tobytes()
    return f"{host.dtype.name}{list(host.shape)} {_digest(data)}"


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()
