"""Operations on files, which the host carries out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.registry import Attrs, Signature, define
from towerstrat.graph.ir.stacks import SessionLike
from towerstrat.graph.ir.types import HostArray, string
from towerstrat.graph.ops.build import one
from towerstrat.platform.files import Glob


def _matching_rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    (pattern,) = inputs
    if pattern.dims is not None and len(pattern.dims) > 1:
        raise ValueError(f"Expected a pattern or a vector of patterns, got the shape {pattern.shape}.")
    return [Signature(string, (None,))]


def _matching(session: SessionLike, op: Operation, values: Sequence[Any]) -> list[HostArray]:
    patterns = [p.decode() if isinstance(p, bytes) else p for p in np.ravel(values[0])]
    return [np.array([path.encode() for path in sorted(Glob(patterns))], object)]


define("MatchingFiles", _matching_rule, host=_matching, stateful=True, differentiable=False)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The paths of the files that match a pattern, or any of a vector of patterns, when it runs; in sorted order."""
    return one("MatchingFiles", [convert_to_tensor(pattern, string)], None, name)
