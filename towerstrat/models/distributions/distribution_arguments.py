"""What distributions do with their arguments: checks, seeds, a common shape."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.control import branches


def checked(validate_args: bool, checks: Callable[[], Sequence[Operation | None]], x: Tensor) -> Tensor:
    """``x``, available once ``checks`` have passed, where arguments are to be validated."""
    return branches.with_dependencies(checks(), x) if validate_args else x


def salted(seed: int | None, salt: str) -> int | None:
    """A seed for the second random operation of a sample."""
    if seed is None:
        return None
    return int(hashlib.md5(f"{seed}{salt}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


def together(*values: Any) -> list[Tensor]:
    """Values in the shape that they broadcast to."""
    first = next(v for v in values if isinstance(v, Tensor))
    zero = sum((arrays.zeros_like(v) for v in values if isinstance(v, Tensor)), arrays.zeros([], first.dtype))
    return [v + zero for v in values]
