"""Transformations of functions to their gradients, as ``jax.grad``: ``tf.contrib.eager.gradients_function`` etc.

``value_and_gradients_function`` differentiates by the arguments, ``implicit_value_and_gradients`` by the variables
read; each has a form without the value. All are a ``GradientTape`` around the call.

>>> from towerstrat.graph.eager import mode
>>> with mode.eager_mode():
...     [float(g) for g in gradients_function(lambda x, y: x * y)(2.0, 5.0)]
[5.0, 2.0]
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir import nest
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.lowering.python_gradients import Derivative
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.variables.variables import Variable


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., tuple[Any, list[tuple[Derivative, Variable]]]]:
    """Transform ``f`` to a function that returns its value and its gradients by the variables it reads.

    Returns:
      A function of the same arguments that returns ``(value, [(gradient, variable), ...])``, with the trainable
      variables in the order of their first read. Several results of ``f`` are summed.

    Raises (when it is called):
      ValueError: ``f`` returned None, or read no trainable variable.
    """

    def decorated(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Derivative, Variable]]]:
        with GradientTape() as tape:
            value = _require_value(f, f(*args, **kwargs))
        variables = tape.watched_variables()
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return value, list(zip(tape.gradient(nest.flatten(value), variables), variables, strict=True))

    return decorated


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., list[tuple[Derivative, Variable]]]:
    """``implicit_value_and_gradients`` without the value."""

    def decorated(*args: Any, **kwargs: Any) -> list[tuple[Derivative, Variable]]:
        return implicit_value_and_gradients(f)(*args, **kwargs)[1]

    return decorated


def value_and_gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., tuple[Any, list[Derivative]]]:
    """Transform ``f`` to a function that returns its value and its gradients by its arguments.

    Args:
      f: a function of tensors, or values that can be converted; returns a tensor or a structure of them.
      params: the parameters to differentiate by: names or positions; default all.

    Returns:
      A function of the positional arguments of ``f``, and of ``dy``: the cotangents of the results (default ones). It
      returns ``(value, gradients)``.

    Raises (when it is called):
      ValueError: other keyword arguments; ``f`` returned None; ``params`` are neither names nor positions.
    """

    def decorated(*args: Any, **kwargs: Any) -> tuple[Any, list[Derivative]]:
        dy = kwargs.pop("dy", None)
        if kwargs:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        arguments = list(args)
        indices = _positions(f, params, len(args))
        for i in indices:
            arguments[i] = arrays.identity(convert_to_tensor(args[i]))
        with GradientTape() as tape:
            sources = [arguments[i] for i in indices]
            tape.watch(sources)
            value = _require_value(f, f(*arguments))
            results = [arrays.identity(v) for v in nest.flatten(value)]
        weights = None if dy is None else [convert_to_tensor(d) for d in nest.flatten(dy)]
        return nest.pack_sequence_as(value, results), tape.gradient(results, sources, weights)

    return decorated


def gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., list[Derivative]]:
    """``value_and_gradients_function`` without the value."""

    def decorated(*args: Any, **kwargs: Any) -> list[Derivative]:
        return value_and_gradients_function(f, params)(*args, **kwargs)[1]

    return decorated


def _require_value(f: Callable[..., Any], value: Any) -> Any:
    """The value that ``f`` returned. Raises ValueError where it is None."""
    if value is None:
        name = getattr(f, "__name__", repr(f))
        raise ValueError(
            f"Cannot differentiate a function that returns None; did you forget to return a value from {name}?"
        )
    return value


def _positions(f: Callable[..., Any], params: Sequence[int | str] | None, count: int) -> Sequence[int]:
    """The indices of parameters given by name or index (None: of all ``count`` arguments)."""
    if params is None:
        return range(count)
    indices = [p for p in params if isinstance(p, int)]
    if len(indices) == len(params):
        return indices
    requested = [p for p in params if isinstance(p, str)]
    if len(requested) < len(params):
        raise ValueError(f"params must be all strings or all integers; got {params}.")
    names = list(inspect.signature(f).parameters)
    unknown = [p for p in requested if p not in names]
    if unknown:
        raise ValueError(f"The function has no parameters {unknown}, only {names}.")
    return [names.index(p) for p in requested]
