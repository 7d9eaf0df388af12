"""One computation three ways: in a graph, eagerly and inside of a function; values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from towerstrat.graph.eager.mode import eager_mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Block, Operation
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor, placeholder
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.math import arithmetic
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.tapes.gradient_tape import GradientTape

EPSILON = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 2e-6, "complex64": 2e-6, "float64": 1e-12, "complex128": 1e-12}


@dataclass(frozen=True, eq=False)
class Case:
    """A function of tensors, and what it is called with.

    Attributes:
      inputs: arrays; floating ones are differentiated.
      ulps: how many times the usual tolerance its results may be apart.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[np.ndarray[Any, Any], ...]
    ulps: float = 1.0

    def outputs(self, *tensors: Any) -> list[Any]:
        found = self.function(*tensors)
        return [convert_to_tensor(t) for t in nest.flatten(found)]


@dataclass
class Result:
    """Values of a case's outputs, and the gradients of their sum by its floating inputs."""

    values: list[Any] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)


def floating(case: Case) -> list[int]:
    return [i for i, x in enumerate(case.inputs) if x.dtype.kind in "fVc"]


def _differentiable(outputs: Sequence[Any]) -> list[Any]:
    """What of the outputs the gradients are of: complex numbers by their parts."""
    real = [arithmetic.real(t) + 2.0 * arithmetic.imag(t) if t.dtype.is_complex else t for t in outputs]
    return [t for t in real if t.dtype.is_floating]


def _dense(gradient: Any) -> Any:
    return convert_to_tensor(gradient) if isinstance(gradient, IndexedSlices) else gradient


def _split(cases: Sequence[Case], per_case: Callable[[Case], int], flat: Sequence[Any]) -> list[list[Any]]:
    found = iter(flat)
    return [[next(found) for _ in range(per_case(case))] for case in cases]


def _arguments(cases: Sequence[Case], make: Callable[[Any], Any]) -> list[list[Any]]:
    """Arguments of its own for each case, so that one gradient of everything says what each one's is."""
    return [[make(x) for x in case.inputs] for case in cases]


def _watched(cases: Sequence[Case], arguments: Sequence[Sequence[Any]]) -> list[Any]:
    return [given[i] for case, given in zip(cases, arguments, strict=True) for i in floating(case)]


def _built(cases: Sequence[Case], arguments: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], list[Any]]:
    """Per case its outputs, and all that gradients are taken of."""
    outputs = [case.outputs(*given) for case, given in zip(cases, arguments, strict=True)]
    return outputs, _differentiable([t for found in outputs for t in found])


def _results(cases: Sequence[Case], values: Sequence[Sequence[Any]], found: Sequence[Any]) -> list[Result]:
    by_case = _split(cases, lambda c: len(floating(c)), found)
    return [Result(list(v), g) for v, g in zip(values, by_case, strict=True)]


def _fetched(tensors: Sequence[Any]) -> list[Any]:
    return [None if t is None else t.numpy() for t in tensors]


def in_graph(cases: Sequence[Case]) -> list[Result]:
    """By a session, with ``tf.gradients``."""
    with Graph().as_default():
        arguments = _arguments(cases, lambda x: placeholder(x.dtype, x.shape))
        outputs, ys = _built(cases, arguments)
        xs = _watched(cases, arguments)
        grads = [_dense(g) for g in gradients(ys, xs)] if ys and xs else [None] * len(xs)
        feeds: dict[Any, Any] = {}
        for case, given in zip(cases, arguments, strict=True):
            feeds.update(zip(given, case.inputs, strict=True))
        known = [g for g in grads if g is not None]
        values, made = Session().run([outputs, known], feeds)
    numbers = iter(made)
    return _results(cases, values, [None if g is None else next(numbers) for g in grads])


def eagerly(cases: Sequence[Case]) -> list[Result]:
    """Operation by operation, with a tape."""
    with eager_mode():
        arguments = _arguments(cases, constant)
        xs = _watched(cases, arguments)
        with GradientTape() as tape:
            tape.watch(xs)
            outputs, ys = _built(cases, arguments)
        grads = [_dense(g) for g in tape.gradient(ys, xs)] if ys and xs else [None] * len(xs)
        return _results(cases, [_fetched(o) for o in outputs], _fetched(grads))


def inside_function(cases: Sequence[Case]) -> list[Result]:
    """In a function that has the tape inside."""
    connected: list[bool] = []

    def run(arguments: Any) -> Any:
        xs = _watched(cases, arguments)
        with GradientTape() as tape:
            tape.watch(xs)
            outputs, ys = _built(cases, arguments)
        grads = [_dense(g) for g in tape.gradient(ys, xs)] if ys and xs else [None] * len(xs)
        connected[:] = [g is not None for g in grads]
        return outputs, [g for g in grads if g is not None]

    with eager_mode():
        outputs, made = function(run, autograph=False)(_arguments(cases, constant))
        numbers = iter(_fetched(made))
        return _results(cases, [_fetched(o) for o in outputs], [next(numbers) if c else None for c in connected])


def around_function(cases: Sequence[Case]) -> list[Result]:
    """In a function that a tape is around."""
    with eager_mode():
        arguments = _arguments(cases, constant)
        xs = _watched(cases, arguments)
        with GradientTape() as tape:
            tape.watch(xs)
            outputs, ys = function(lambda given: _built(cases, given), autograph=False)(arguments)
        grads = [_dense(g) for g in tape.gradient(ys, xs)] if ys and xs else [None] * len(xs)
        return _results(cases, [_fetched(o) for o in outputs], _fetched(grads))


WAYS = {"eagerly": eagerly, "inside of a function": inside_function, "around a function": around_function}


# ---- comparing -------------------------------------------------------------------------------------------------


def differences(case: Case, way: str, found: Result, wanted: Result, ulps: float) -> list[str]:
    """What a way computed otherwise than the graph did."""
    wrong = []
    for what in ("values", "gradients"):
        for i, (a, b) in enumerate(zip(getattr(found, what), getattr(wanted, what), strict=True)):
            problem = apart(a, b, ulps)
            if problem:
                wrong.append(f"{case.name}: {what[:-1]} {i} {way}: {problem}")
    return wrong


def apart(found: Any, wanted: Any, ulps: float = 1.0) -> str:
    """How two results differ, or nothing."""
    if found is None or wanted is None:
        return "" if found is wanted else f"got {found!r}, in a graph {wanted!r}"
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"got {found.dtype}{list(found.shape)}, in a graph {wanted.dtype}{list(wanted.shape)}"
    limit = ulps * EPSILON.get(found.dtype.name, 0.0)
    if found.dtype.kind not in "fVc":
        same = np.array_equal(found, wanted)
    else:
        wide = np.complex128 if found.dtype.kind == "c" else np.float64
        a, b = found.astype(wide), wanted.astype(wide)
        size = float(np.max(np.abs(b[np.isfinite(b)]), initial=1.0))
        same = np.allclose(a, b, rtol=limit, atol=limit * size, equal_nan=True)
    return "" if same else f"got {found.tolist()}, in a graph {wanted.tolist()}"[:400]


def within(block: Block) -> list[Operation]:
    """All operations of a graph, those of loops and branches too."""
    return [o for op in block.ops for o in (op, *(i for body in op.bodies for i in within(body)))]


def empty(case: Case) -> Case | None:
    """The case with a batch of no examples, where a graph of that can be built; else None.

    Which inputs are a batch is not written down: those as long as the first, the first alone, or all of them.
    """
    if not case.inputs or not case.inputs[0].ndim:
        return None
    length = len(case.inputs[0])
    choices = [
        [x.ndim > 0 and len(x) == length for x in case.inputs],
        [i == 0 for i in range(len(case.inputs))],
        [x.ndim > 0 for x in case.inputs],
    ]
    for choice in choices:
        inputs = tuple(x[:0] if cut else x for x, cut in zip(case.inputs, choice, strict=True))
        tried = Case(f"{case.name}, nothing", case.function, inputs, case.ulps)
        try:
            operations(tried)
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            continue
        return tried
    return None


def operations(case: Case) -> list[Operation]:
    """What a case adds to a graph."""
    with Graph().as_default() as graph:
        case.outputs(*(placeholder(x.dtype, x.shape) for x in case.inputs))
        return within(graph.root)
