"""What elements are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"
Element: TypeAlias = "Sequence[Array]"
"""The components of one element, flattened. They are never written to."""
