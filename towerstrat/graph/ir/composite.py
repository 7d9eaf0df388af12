"""What the engine asks of values that are no tensors but stand for some: the base classes of their types."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from towerstrat.graph.ir.elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.types import DType


class Composite:
    """A value that branches, loops and functions take apart into tensors and put together again."""

    __slots__ = ()

    def _tensors(self) -> list[Tensor]:
        """The tensors that the value consists of."""
        raise NotImplementedError

    def _like(self, tensors: Sequence[Tensor]) -> Any:
        """A value like this one over other tensors, as many as ``_tensor_count`` says."""
        raise NotImplementedError

    def _tensor_count(self) -> int:
        return len(self._tensors())


class Argument(Composite):
    """A composite that functions take as an argument: its tensors become inputs of the function's graph."""

    __slots__ = ()

    def _argument_key(self) -> Hashable:
        """What two values have in common that may share a trace, besides the types and shapes of their tensors."""
        raise NotImplementedError

    def _argument_axis(self) -> Axis | None:
        """The axis along which the tensors have a value at each position, or None."""
        return None


class Convertible:
    """A value that ``convert_to_tensor`` makes one tensor of."""

    __slots__ = ()

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Any:
        """The value as a tensor of ``dtype`` (None: its own). Raises TypeError or ValueError where there is none."""
        raise NotImplementedError


class Fetchable:
    """A value that ``Session.run`` fetches part by part."""

    __slots__ = ()

    def _fetch_parts(self) -> tuple[Sequence[Any], Callable[[list[Any]], Any]]:
        """What to fetch, and what makes one value of the fetched ones."""
        raise NotImplementedError
