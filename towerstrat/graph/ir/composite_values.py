"""Base classes of composite values, which consist of tensors: IndexedSlices, SparseTensor, RaggedTensor, TensorArray.

Regions and functions know tensors only. So ``cond``, loops and traced functions flatten a composite into its tensors
(``_tensors``) and rebuild one from theirs (``_like``), as JAX does with registered pytree nodes. The further classes
add one ability each: ``Argument`` of traced functions, ``Partitioned`` (elementwise functions apply to the flat
values), ``Convertible`` to a tensor, ``Fetchable`` by ``Session.run``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.types import DType


class Composite:
    """A pytree node of tensors: branches, loops and functions flatten it and rebuild it from other tensors."""

    __slots__ = ()

    def _tensors(self) -> list[Tensor]:
        """The tensors that the value consists of."""
        raise NotImplementedError

    def _like(self, tensors: Sequence[Tensor]) -> Self:
        """A value of this type and static properties that consists of ``tensors``, ``_tensor_count()`` of them."""
        raise NotImplementedError

    def _tensor_count(self) -> int:
        """The number of tensors."""
        return len(self._tensors())


class Argument(Composite):
    """A composite that traced functions take as an argument: its tensors become inputs of the function's graph."""

    __slots__ = ()

    def _argument_key(self) -> Hashable:
        """Part of the key of a trace, besides the dtypes and shapes of the tensors: equal keys share a trace."""
        raise NotImplementedError

    def _argument_axis(self) -> Axis | None:
        """The axis along which the tensors are varying, or None."""
        return None


class Partitioned(Argument):
    """A composite of flat values and a partition (such as row splits): elementwise functions apply to the values."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """Element type of the flat values."""
        raise NotImplementedError

    @property
    def flat_values(self) -> Tensor:
        """The tensor of all values, without the partition."""
        raise NotImplementedError

    def _map_flat(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The same partition over ``function`` of the flat values."""
        raise NotImplementedError

    def _broadcast(self, op: Callable[..., Any], *args: Any) -> Any:
        """``op`` of the flat values, with tensors among ``args`` broadcast to them."""
        raise NotImplementedError

    def _reduced(self, type: str, axis: Any, keepdims: bool, name: str | None) -> Any:
        """The reduction ``type`` (such as "Sum") along dimensions."""
        raise NotImplementedError

    def _concatenated(self, values: Sequence[Any], axis: Any) -> Self:
        """Concatenation with others along a dimension."""
        raise NotImplementedError

    def _gathered(self, indices: Any, axis: Any) -> Any:
        """The slices at ``indices`` along a dimension."""
        raise NotImplementedError


def of_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: of a ``Partitioned`` first argument the function is that of its flat values."""
    first = next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def applied(*args: Any, **kwargs: Any) -> Any:
        argument = args[0] if args else kwargs.get(first)
        if not isinstance(argument, Partitioned):
            return function(*args, **kwargs)
        keywords = {name: value for name, value in kwargs.items() if name != first}
        return argument._map_flat(lambda values: function(values, *args[1:], **keywords))

    return applied


class Convertible:
    """A value that ``convert_to_tensor`` accepts."""

    __slots__ = ()

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Tensor:
        """The value as a tensor of ``dtype`` (None: its own). Raises TypeError or ValueError where it has none."""
        raise NotImplementedError


class Fetchable:
    """A value that ``Session.run`` fetches in parts."""

    __slots__ = ()

    def _fetch_parts(self) -> tuple[Sequence[Any], Callable[[list[Any]], Any]]:
        """The fetches of the parts, and a function from the list of fetched values to the result."""
        raise NotImplementedError
