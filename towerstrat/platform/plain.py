"""The type of states: values that files keep, and that can be read without running code."""

from __future__ import annotations

from typing import Any, TypeAlias

State: TypeAlias = Any
"""None, booleans, numbers, strings, bytes, numpy arrays, and lists and dictionaries of them."""
