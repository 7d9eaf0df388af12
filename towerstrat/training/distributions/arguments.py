"""What distributions do with their arguments: checks, seeds, a common shape."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ops import array, control_flow


def checked(validate_args: bool, checks: Callable[[], Sequence[Operation | None]], x: Tensor) -> Tensor:
    """``x``, available once ``checks`` have passed, where arguments are to be validated."""
    return control_flow.with_dependencies(checks(), x) if validate_args else x


def salted(seed: int | None, salt: str) -> int | None:
    """A seed for the second random operation of a sample."""
    if seed is None:
        return None
    return int(hashlib.md5(f"{seed}{salt}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


def together(*values: Any) -> list[Tensor]:
    """Values in the shape that they broadcast to."""
    first = next(v for v in values if isinstance(v, Tensor))
    zero = sum((array.zeros_like(v) for v in values if isinstance(v, Tensor)), array.zeros([], first.dtype))
    return [v + zero for v in values]
