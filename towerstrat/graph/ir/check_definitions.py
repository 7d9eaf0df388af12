"""Input checks of operation types: ``OpDef.check`` is an ``InputCheck``, a test of input values that may fail in a run.

A failed check raises InvalidArgumentError with the operation, the user's line and the values: where values are known,
before the operation is evaluated; in a compiled program after it, from the error record (``lowering/error_state.py``).

    def negative(op, values):                          # Sqrt that refuses x < 0
        return CheckResult(jnp.any(values[0] < 0), (jnp.min(values[0]),), lambda x: f"x = {x} is negative")

    define_op("Sqrt", same, jnp.sqrt, check=InputCheck(negative, values=(0,)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from towerstrat.graph.ir.types import Array

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Operation


class CheckResult(NamedTuple):
    """The result of a check.

    Attributes:
      bad: scalar bool, whether it fails; an array of the device where the values are not known yet.
      shown: the small arrays that the message shows.
      message: (``shown`` as numpy arrays) -> the error's text.
      messages: one such function per axis index, where the text differs by shard.
    """

    bad: Array | bool | np.bool_
    shown: tuple[Array | np.generic, ...]
    message: Callable[..., str]
    messages: Sequence[Callable[..., str]] = ()


def _some(op: Operation) -> int:
    return 9


@dataclass(frozen=True)
class InputCheck:
    """A check of an operation's input values.

    Attributes:
      test: (operation, inputs) -> the result, None where nothing can be wrong. Inputs are numpy arrays, or of the
        device; for a variable's handle the variable's value.
      values: positions of the inputs whose values it looks at; of the others it uses shape and dtype only.
      words: (operation) -> most elements that the message shows.
      after: it looks at the outputs too: ``test`` gets them behind the inputs.
      backward: the operation's gradient checks cotangents.
    """

    test: Callable[[Operation, Sequence[Any]], CheckResult | None]
    values: tuple[int, ...] = (0,)
    words: Callable[[Operation], int] = _some
    after: bool = False
    backward: bool = False
