"""Consensus on multi-process programs: before the first call all processes compare operations and replicated values.

An XLA program with collectives hangs, or computes nonsense, if a process runs another one. So each process hashes what
it is about to run, and ``COLLECTIVES.agree`` compares the digests:

    its operations       digest of (name, type, inputs, output shapes, attributes) of each, and of the signature
    the input n:0        digest of a replicated input that each process feeds itself
    the variable w       digest of the initial value that each process brings

On a difference all raise; the operations are then compared one by one (``details``) to name the first that differs and
the line that created it. Attributes are written in a form without addresses or object identities (``_of``), so that
processes that built equal graphs have equal digests:

>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.ir.tensor_conversion import constant
>>> def digest(value):
...     with Graph().as_default():
...         return fingerprint([constant(value).op], ())
>>> digest([1.0, 2.0]) == digest([1.0, 2.0]), digest([1.0, 2.0]) == digest([1.0, 2.5])
(True, False)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array, DType
from towerstrat.hosts.collectives import COLLECTIVES

_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)


def require_same_program(
    description: str, operations: Sequence[Operation], signature: object, values: Mapping[str, Array]
) -> None:
    """Require that all processes run this program on these values. Collective, before a program's first call.

    Args:
      description: the program, in words.
      operations: evaluated by it.
      signature: shapes and dtypes of its arguments.
      values: arrays by name that must be identical on all processes.

    Raises:
      FailedPreconditionError: a process has another program or other values; named by process, operation and line.
    """
    parts = {"its operations": fingerprint(operations, signature)}
    parts |= {name: _digest_of_array(value) for name, value in values.items()}

    def details() -> list[tuple[str, str]]:
        return [(_digest(repr(_describe(op)).encode()), _in_words(op)) for op in _all(operations)]

    COLLECTIVES.agree(description, parts, details)


def fingerprint(operations: Sequence[Operation], signature: object) -> str:
    """Digest of operations and signature, the same text in all processes that have the same program."""
    return _digest(repr(([_describe(op) for op in operations], signature)).encode())


def _all(operations: Sequence[Operation]) -> list[Operation]:
    """Operations, with those of their bodies before them."""
    return [each for op in operations for each in (*(o for body in op.bodies for o in _all(body.needed)), op)]


def _in_words(op: Operation) -> str:
    seeds = "" if op.attrs.get("seeds") is None else f", with the seeds {op.attrs['seeds']}"
    return f"{op.name} (type {op.type}{seeds}, created at {op.line})"


def _describe(op: Operation) -> object:
    attributes = [(name, _of(value)) for name, value in sorted(op.attrs.items())]
    return op.name, op.type, [t.name for t in op.inputs], [(t.dtype.name, t.dims) for t in op.outputs], attributes


def _of(value: Any) -> Any:
    """An attribute's value in a form whose ``repr`` is the same in all processes."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Tensor | Operation | StateVariable | DType):
        return value.name
    if isinstance(value, Block):
        return [_describe(op) for op in value.needed]
    if isinstance(value, np.ndarray | jax.Array):
        return _digest_of_array(value)
    if isinstance(value, Axis):
        return repr(value)
    if isinstance(value, Mapping):
        return [(_of(key), _of(each)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [_of(each) for each in value]
    return type(value).__qualname__


def _digest_of_array(value: Array) -> str:
    host = np.asarray(value)
    data = repr(host.tolist()).encode() if host.dtype.hasobject else np.ascontiguousarray(host).tobytes()
    return f"{host.dtype.name}{list(host.shape)} {_digest(data)}"


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()
