"""Log messages about compilations: slow ones, and repeated ones of one graph part for ever new signatures.

Each new input shape is a compilation, of which JAX says nothing: a program whose batches all differ in size is slow for
no visible reason. Each ``ProgramVariants`` has a ``CompilationLog`` and tells it of every program that it compiles. The
third one is warned of, since a smaller last batch makes two by itself, or an earlier one that took longer than
``SLOW``; a first one that is slow is information only. Each message comes once. The warning names the input that
changed, and how:

>>> from towerstrat.graph.ir.graph import Graph
>>> from towerstrat.graph.ir.tensor_conversion import placeholder
>>> with Graph().as_default():
...     x = placeholder("float32", None, "x")
>>> _difference({x: ((32, 28), "float32")}, {x: ((17, 28), "float32")})
['x:0 (created at ...) is float32[17, 28], it was float32[32, 28] before']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.platform import logs

SLOW = 1.0
"""Seconds from which on a compilation is logged."""
REPEATED = 3
"""Programs of one graph part from which on repetition is logged: a last, smaller batch makes two."""

Signature = Mapping[Tensor, Any]
"""Argument -> (shape, dtype); static tensor -> its value."""


class CompilationLog:
    """Logger of one graph part's compilations. Each message comes once.

    Args:
      description: the part, in words.
    """

    def __init__(self, description: str):
        self.what = description
        self._count = 0
        self._last: Signature = {}
        self._told: set[str] = set()

    def note(self, seconds: float, signature: Signature) -> None:
        """Record a compilation of ``seconds``; log a slow one, and a repetition from the third on."""
        self._count += 1
        new = _difference(self._last, signature) if self._count > 1 else []
        self._last = signature
        if new and (self._count >= REPEATED or seconds > SLOW):
            self._once(
                "repeated", logs.warning,
                f"{self.what} was compiled for the {self._count}. time, in {seconds:.1f} s, because {'; '.join(new)}. "
                "Each new shape is a program of its own: use batches of one size (pad the last one, or "
                "drop_remainder=True), or a few sizes to which others are padded.",
            )  # fmt: skip
        elif seconds > SLOW and self._count == 1:
            self._once(
                "slow", logs.info,
                f"{self.what} was compiled in {seconds:.1f} s, for its first run. A later start takes it from JAX's "
                "compilation cache, where one is set (the environment variable JAX_COMPILATION_CACHE_DIR).",
            )  # fmt: skip

    def _once(self, key: str, log: Callable[..., None], message: str) -> None:
        if key not in self._told:
            self._told.add(key)
            log("%s", message)


def _difference(before: Signature, after: Signature) -> list[str]:
    """The differences of a signature from the one before, in words; inputs that are new are not among them."""
    differences: list[str] = []
    for tensor, value in after.items():
        if tensor in before and before[tensor] != value:
            old, new = (_text(v) for v in (before[tensor], value))
            differences.append(f"{tensor.name} (created at {tensor.op.line}) is {new}, it was {old} before")
    return differences


def _text(value: object) -> str:
    if isinstance(value, tuple):
        shape, dtype = value
        return f"{dtype}{list(shape)}"
    return str(value)
