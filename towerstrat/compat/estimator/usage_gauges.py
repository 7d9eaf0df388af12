"""What the package counts while it runs: uses of its parts."""

from __future__ import annotations

from typing import Any


class Cell:
    """One value of a gauge."""

    def __init__(self, value: Any):
        self._value = value

    def set(self, value: Any) -> None:
        self._value = value

    def value(self) -> Any:
        return self._value


class _Gauge:
    """A value that programs set, one for each combination of labels.

    Args:
      name: of the gauge. description: what it tells. labels: the names of the labels.
    """

    _initial: Any

    def __init__(self, name: str, description: str, *labels: str):
        self.name = name
        self.description = description
        self._labels = labels
        self._cells: dict[tuple[str, ...], Cell] = {}

    def get_cell(self, *labels: str) -> Cell:
        """The value of some labels. Raises ValueError for another number of labels than the gauge has."""
        if len(labels) != len(self._labels):
            raise ValueError(f"{self.name} expects {len(self._labels)} labels, got {len(labels)}: {labels}.")
        return self._cells.setdefault(labels, Cell(self._initial))


class BoolGauge(_Gauge):
    """A gauge of truth values, False at first."""

    _initial = False


class StringGauge(_Gauge):
    """A gauge of strings, empty at first."""

    _initial = ""


class TensorTracer:
    """The tool of TPU programs that wrote down every tensor. ``tf.Print`` and JAX's profiler show values and times."""

    @staticmethod
    def is_enabled() -> bool:
        """Whether the tool is at work: never."""
        return False
