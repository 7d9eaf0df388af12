"""Values that are a little wrong."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

_NUMBERS = itertools.count()
_CALL = """
def around({captured}):
    def call(*args, **kwargs):
        if False:
            {uses}
        return {name}(*args, **kwargs)
    return call
"""


class Change(NamedTuple):
    """A change of a value: ``value * factor + offset``, by its kind.

    Attributes:
      factor, offset: of floating and complex numbers. shift: what is added to integers. flip: turns booleans over.
      text: what is appended to strings.
    """

    factor: float
    offset: float
    shift: int
    flip: bool
    text: str


WRONG = Change(1.01, 0.01, 1, True, "?")
SAME = Change(1.0, -0.0, 0, False, "")
"""The same operations, and no other value: a test that fails with it fails for another reason than a value."""


def changed(value: Any, change: Change) -> Any:
    """A value, or a structure of them, changed; what is no number, truth or text stays as it is."""
    if isinstance(value, dict):
        return {key: changed(part, change) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(changed(part, change) for part in value))
    if isinstance(value, tuple | list):
        return type(value)(changed(part, change) for part in value)
    if isinstance(value, bytes | str):
        return value + (change.text.encode() if isinstance(value, bytes) else change.text)
    if isinstance(value, bool):
        return value ^ change.flip
    if isinstance(value, int):
        return value + change.shift
    if isinstance(value, float):
        return value * change.factor + change.offset
    if isinstance(value, np.ndarray | np.generic):
        return _of_numpy(value, change)
    return _of_jax(value, change) if isinstance(value, jax.Array) else value


def _of_numpy(value: Any, change: Change) -> Any:
    if value.dtype.kind in "OS":
        made = np.empty(value.shape, object)
        for index, part in np.ndenumerate(value):
            made[index] = changed(part, change)
        return made.astype(value.dtype) if value.dtype.kind == "S" and not change.text else made
    if value.dtype.kind == "b":
        return value ^ np.bool_(change.flip)
    scalar = value.dtype.type
    with np.errstate(all="ignore"):
        if jnp.issubdtype(value.dtype, jnp.inexact):
            return (value * scalar(change.factor) + scalar(change.offset)).astype(value.dtype)
        return (value + scalar(change.shift)).astype(value.dtype) if value.dtype.kind in "iu" else value


def _of_jax(value: Any, change: Change) -> Any:
    if value.dtype == jnp.bool_:
        return value ^ change.flip
    if jnp.issubdtype(value.dtype, jnp.inexact):
        return value * jnp.asarray(change.factor, value.dtype) + jnp.asarray(change.offset, value.dtype)
    return value + jnp.asarray(change.shift, value.dtype) if jnp.issubdtype(value.dtype, jnp.integer) else value


def slanted(value: Any, change: Change) -> Any:
    """The same value, or structure of them, whose gradient is ``change.factor`` times as large."""
    if isinstance(value, tuple | list):
        return type(value)(slanted(part, change) for part in value)
    if not isinstance(value, jax.Array) or not jnp.issubdtype(value.dtype, jnp.inexact):
        return value
    none = value - jax.lax.stop_gradient(value)
    return value + jnp.where(jnp.isfinite(value), none * (change.factor - 1.0), jnp.zeros_like(value))


def scaled(value: Any, change: Change) -> Any:
    """Cotangents, ``change.factor`` times as large; what is no floating number stays as it is."""
    if isinstance(value, Mapping):
        return {key: scaled(part, change) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(scaled(part, change) for part in value))
    if isinstance(value, tuple | list):
        return type(value)(scaled(part, change) for part in value)
    floating = isinstance(value, jax.Array | np.ndarray) and jnp.issubdtype(value.dtype, jnp.inexact)
    return changed(value, change._replace(offset=-0.0)) if floating else value


def after(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function, whose result is changed."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return change(function(*args, **kwargs))

    return wrapped


def intercept(function: Any, around: Callable[..., Any]) -> None:
    """From now on calls of a Python function are ``around(original, *args, **kwargs)``, whoever holds the function."""
    original = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    name = f"_around_{next(_NUMBERS)}"
    function.__globals__[name] = partial(around, original)
    old, made = function.__code__, dict[str, Any]()
    captured = ", ".join(old.co_freevars)  # A function keeps its closure, whose size its code has to have.
    exec(_CALL.format(captured=captured, uses=captured or "None", name=name), made)
    function.__code__ = made["around"](*old.co_freevars).__code__.replace(co_name=old.co_name)
    function.__defaults__ = function.__kwdefaults__ = None
    function.__wrapped__ = original
