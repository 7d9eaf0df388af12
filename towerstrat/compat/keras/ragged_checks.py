"""What the package asks of ragged tensors beside the public functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ops.control.assertions import assert_equal

_MESSAGE = "Inputs must have identical ragged splits"


def assert_splits_match(nested_splits_lists: Sequence[Sequence[Tensor]]) -> list[Operation]:
    """Operations that require all ragged tensors to have the splits of the first.

    Args:
      nested_splits_lists: ``nested_row_splits`` of each.

    Raises:
      ValueError: their ragged ranks differ.
    """
    first, *others = nested_splits_lists
    if any(len(splits) != len(first) for splits in others):
        raise ValueError(_MESSAGE)
    found: list[Any] = [
        assert_equal(one, other, message=_MESSAGE)
        for splits in others
        for one, other in zip(first, splits, strict=True)
    ]
    return [op for op in found if op is not None]
