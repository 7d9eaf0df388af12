"""Apply gradient formulas of operation types (``OpDef.gradient``), which take the place of ``jax.vjp`` of kernels.

A formula is ``gradient(inputs, outputs, cotangents, **attrs) -> input cotangents``, None for zeros. It is used in two
ways: outside of JAX's derivatives it is the pullback on the tape (``apply_formula``); inside a ``jax.vjp``, as of a
loop's body, the kernel becomes a ``jax.custom_vjp`` with it (``with_formula``). In both cases cotangents of broadcast
inputs are summed back to the inputs' shapes here, so that a formula need not.

A fed output keeps its derivative, as in TensorFlow: the value is what was fed, the cotangent goes to the operation:

>>> float(jax.grad(lambda x: in_place_of(jnp.float32(5.0), x * x))(3.0))
6.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.types import Array


def apply_formula(
    op: Operation,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    cotangents: Sequence[Array | None],
    axis: Axis | None,
) -> list[Array | None]:
    """The input cotangents of an operation by its type's formula, of the inputs' shapes and types.

    Args:
      op: of a type that has a gradient formula.
      inputs: their values.
      outputs: the values that later operations see.
      cotangents: of the outputs; None stands for zeros.
      axis: values are cast to varying along it, so that cotangents are the shard's own.
    """
    static = op.definition.known(len(op.inputs), op.attrs)
    assert op.definition.gradient is not None
    varying_inputs = [x if i in static or not _inexact(x) else vary(jnp.asarray(x), axis) for i, x in enumerate(inputs)]
    varying_outputs = [vary(jnp.asarray(y), axis) for y in outputs]
    gradients = op.definition.gradient(varying_inputs, varying_outputs, cotangents, **op.arguments)
    return [None if g is None else _like(g, x) for g, x in zip(gradients, varying_inputs, strict=True)]


def with_formula(
    op: Operation, kernel: Callable[..., Any], args: Sequence[Array], attrs: Mapping[str, Any], axis: Axis | None,
    fed: Mapping[int, Array],
) -> Any:  # fmt: skip
    """The kernel's result on ``args``, where JAX differentiates it by the type's formula: a ``jax.custom_vjp``.

    Args:
      op: of a type that has a gradient formula.
      kernel: computes its outputs from ``args``.
      args: values of the inputs; those that are tracers of inexact types are differentiated by.
      attrs: the kernel's keywords.
      axis: as of ``apply_formula``.
      fed: output index -> the value that a feed gives it.
    """
    places = [i for i, a in enumerate(args) if isinstance(a, jax.core.Tracer) and _inexact(a)]

    def value(*arrays: Array) -> Any:
        arguments = list(args)
        for i, array in zip(places, arrays, strict=True):
            arguments[i] = array
        outputs = kernel(*arguments, **attrs)
        if not isinstance(outputs, tuple | list):
            return fed.get(0, outputs)
        return tuple(fed.get(i, y) for i, y in enumerate(outputs))

    function = jax.custom_vjp(value)

    def forward(*arrays: Array) -> tuple[Any, tuple[Sequence[Array], Any]]:
        result = function(*arrays)  # by the formula where a gradient of the gradient goes through it, too
        return result, (arrays, result)

    def backward(residuals: tuple[Sequence[Array], Any], cotangents: Any) -> tuple[Array | None, ...]:
        arrays, result = residuals
        arguments = list(args)
        for i, array in zip(places, arrays, strict=True):
            arguments[i] = array
        several = isinstance(result, tuple | list)
        gradients = apply_formula(
            op, arguments, result if several else [result], list(cotangents) if several else [cotangents], axis
        )
        return tuple(None if (cotangent := gradients[i]) is None else vary(cotangent, axis) for i in places)

    function.defvjp(forward, backward)
    return function(*(vary(args[i], axis) for i in places)) if places else value()


def by_source(op: Operation, sources: Sequence[Tensor], cotangents: Sequence[Array | None]) -> list[Array | None]:
    """Cotangents per distinct input from those per input: an operation may take the same tensor twice."""
    sums: dict[Tensor, Array] = {}
    for tensor, value in zip(op.inputs, cotangents, strict=True):
        if value is not None:
            sums[tensor] = value if tensor not in sums else sums[tensor] + value
    return [sums.get(t) for t in sources]


@jax.custom_vjp
def in_place_of(fed: Array, computed: Array) -> Array:
    """The value ``fed`` with the derivative of ``computed``."""
    return fed


in_place_of.defvjp(lambda fed, computed: (in_place_of(fed, computed), None), lambda _, cotangent: (None, cotangent))


def _inexact(value: Array) -> bool:
    return jnp.issubdtype(value.dtype, jnp.inexact)


def _like(cotangent: Array, value: Array) -> Array:
    """A cotangent summed over broadcast dimensions and cast: of the value's shape and type."""
    shape = np.shape(value)
    extra = np.ndim(cotangent) - len(shape)
    wide = tuple(i for i, size in enumerate(shape) if size == 1 and np.shape(cotangent)[i + extra] != 1)
    if extra or wide:
        cotangent = jnp.sum(cotangent, (*range(extra), *(i + extra for i in wide)), dtype=cotangent.dtype)
        cotangent = jnp.reshape(cotangent, shape)
    return jnp.asarray(cotangent, value.dtype)
