"""Types of arguments, as ``numpy.typing`` and ``jax.typing`` name them: "-Like" is anything that a function converts.

    TensorLike   what ``convert_to_tensor`` takes       [1.0, 2.0], np.eye(2), a tensor, a variable
    ShapeLike    what ``TensorShape`` takes             None, 3, [None, 3], a TensorShape, a tensor's shape
    SizeLike     one entry of a shape                   3, None, a Dimension
    AxisLike     one dimension of a value               0, -1, np.int64(1), a tensor
    AxesLike     dimensions of a value                  None (all), 0, [0, 1], a tensor
    Structure    a nest of leaves of one type           x, (x, y), {"loss": x, "all": [x, y]}
    Fetches      what ``Session.run`` takes             loss, [train_op, loss], "loss:0", a variable

Each names the types that are here and, by protocols, those of the floors above and of other libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, TypeVar, runtime_checkable

import jax
import numpy as np

from towerstrat.graph.ir.types import DType, HostArray

if TYPE_CHECKING:
    from towerstrat.graph.ir.composite_values import Convertible
    from towerstrat.graph.ir.graph_elements import Operation, Tensor
    from towerstrat.graph.ir.shapes import Dimension, TensorShape


@runtime_checkable
class ShapeProto(Protocol):
    """The message ``TensorShapeProto``, of any library that reads it."""

    @property
    def unknown_rank(self) -> bool:
        """Whether the number of dimensions is unknown; ``dim`` is empty then."""

    @property
    def dim(self) -> Iterable[SizeProto]:
        """The dimensions."""


class SizeProto(Protocol):
    """One dimension of a ``TensorShapeProto``."""

    @property
    def size(self) -> int:
        """-1 where it is unknown."""


class TypedValue(Protocol):
    """A value that stands for a tensor: a variable, a value of towers."""

    @property
    def dtype(self) -> DType:
        """The element type."""

    @property
    def shape(self) -> TensorShape:
        """The static shape."""


Scalar: TypeAlias = "bool | int | float | complex | str | bytes | np.generic"
ArrayLike: TypeAlias = "HostArray | jax.Array | Scalar | Sequence[ArrayLike]"
"""Values that are known when the graph is built."""
TensorLike: TypeAlias = (
    "Tensor | TypedValue | Convertible | HostArray | jax.Array | Scalar | Dimension | TensorShape"
    " | Sequence[TensorLike]"
)
"""What ``convert_to_tensor`` takes."""
SizeLike: TypeAlias = "SupportsIndex | Dimension | None"
"""What ``Dimension`` takes: the size of one dimension, None where it is unknown."""
ShapeLike: TypeAlias = "TensorShape | ShapeProto | SizeLike | Iterable[SizeLike]"
"""What ``TensorShape`` takes: None is a shape of unknown rank, one size a shape of one dimension."""
AxisLike: TypeAlias = "int | np.integer[Any] | HostArray | jax.Array | Tensor"
"""One dimension: a number, counted from the end where it is negative, or a scalar tensor of one."""
AxesLike: TypeAlias = "AxisLike | Sequence[int] | None"
"""Dimensions: None stands for all of them."""

Leaf = TypeVar("Leaf")
Structure: TypeAlias = "Leaf | Sequence[Structure[Leaf]] | Mapping[Any, Structure[Leaf]]"
"""What ``nest`` flattens: lists, tuples, named tuples, mappings and attrs classes, nested, of leaves of one type."""
Fetches: TypeAlias = "Structure[Tensor | Operation | TypedValue | str | None]"
"""What ``Session.run`` fetches: tensors, operations, variables, their names, and structures of them."""
