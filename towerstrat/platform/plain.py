"""The type of serializable state: what ``checkpoints/state_codec.py`` encodes and decodes without running code."""

from __future__ import annotations

from typing import Any, TypeAlias

State: TypeAlias = Any
"""None, bool, int, float, str, bytes, numpy arrays, and lists and dictionaries of them."""
