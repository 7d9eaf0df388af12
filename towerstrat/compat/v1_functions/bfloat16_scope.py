"""``tf.contrib.tpu.bfloat16_scope``: variables of float32 that are used as bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from towerstrat.graph.ir.types import as_dtype, bfloat16, float32
from towerstrat.graph.ops.math.arithmetic import cast
from towerstrat.graph.scopes.variable_scope import VariableScope, variable_scope


@contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[VariableScope]:
    """Inside, ``tf.get_variable`` of type bfloat16 makes a variable of float32 and gives its value as bfloat16.

    Optimizers thus update the float32 variable.

    Args:
      name: of the variable scope; None: variables keep the names that they have outside.
    """
    with variable_scope(name or "", custom_getter=_as_bfloat16) as scope:
        yield scope


def _as_bfloat16(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if as_dtype(kwargs["dtype"]) != bfloat16:
        return getter(*args, **kwargs)
    return cast(getter(*args, **{**kwargs, "dtype": float32}), bfloat16)
