"""What can be wrong with the values of an operation's inputs: each type says it by a ``InputCheck``.

A check that fails raises InvalidArgumentError with the operation, the user's line and the values: eagerly before the
operation is executed, in a compiled program after it (``lowering/faults.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Operation


class CheckResult(NamedTuple):
    """What a check found.

    Attributes:
      bad: scalar bool, whether it fails; an array of the device where the values are not known yet.
      shown: the small arrays that the message shows.
      message: (``shown`` as numpy arrays) -> the error's text.
      messages: the same for each position of an axis, where the text is another one there.
    """

    bad: Any
    shown: tuple[Any, ...]
    message: Callable[..., str]
    messages: Sequence[Callable[..., str]] = ()


def _some(op: Operation) -> int:
    return 9


@dataclass(frozen=True)
class InputCheck:
    """What can be wrong with an operation's inputs.

    Attributes:
      test: (operation, inputs) -> what was found, None where nothing can be wrong. Inputs are numpy arrays, or of the
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
