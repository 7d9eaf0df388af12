"""Results of ours beside those of the original."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def same(ours: Any, theirs: Any, where: str = "", loose: float = 1e-5) -> None:
    """Numbers are close, all else is equal, as JSON has it.

    Args:
      loose: how far apart numbers may be, relative to their size.
    """
    _same(json.loads(json.dumps(ours)), theirs, where, loose)


def _same(ours: Any, theirs: Any, where: str, loose: float) -> None:
    if isinstance(theirs, dict):
        assert sorted(ours) == sorted(theirs), where
        for key, value in theirs.items():
            _same(ours[key], value, f"{where}.{key}", loose)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), (where, ours, theirs)
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            _same(one, other, f"{where}[{i}]", loose)
    elif isinstance(theirs, float) and isinstance(ours, float):
        np.testing.assert_allclose(ours, theirs, rtol=loose, atol=loose / 5, err_msg=where)
    else:
        assert type(ours) is type(theirs), (where, ours, theirs)
        assert ours == theirs, where
