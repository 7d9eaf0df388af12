"""The number of a tower, where one trace stands for all towers."""

from __future__ import annotations

from typing import Any, NoReturn

from towerstrat.graph.ir.composite_values import Convertible
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, float32, int32
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.math.arithmetic import cast


def _refuse(what: str, instead: str) -> NoReturn:
    raise TypeError(
        f"The tower id has no Python value: one trace of the function stands for all towers, so {what} cannot differ "
        f"between them. Use {instead}.\n  at: {user_line()}"
    )


class TowerId(Convertible):
    """Stands for each tower's own number, 0 to ``num_towers - 1``; a tensor wherever one is expected.

    Arithmetic gives tensors, and like a Python number it takes the element type of the other side. What would need a
    Python value (``==``, ``if``, indexing a list, hashing) raises TypeError.
    """

    __array_priority__ = 200

    def __init__(self, axis: Axis):
        self.axis = axis

    def tensor(self, dtype: DType | None = None) -> Tensor:
        """The number as a tensor, int32 unless another type is wanted."""
        number = all_reduce.position(self.axis, "tower_id")
        return number if dtype in (None, int32) else cast(number, dtype)

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Tensor:
        return self.tensor(dtype)

    def __eq__(self, other: Any) -> Any:
        _refuse("a comparison with ==", "tf.equal(tower_id, n), and tf.cond to act on it")

    def __ne__(self, other: Any) -> Any:
        _refuse("a comparison with !=", "tf.not_equal(tower_id, n), and tf.cond to act on it")

    def __hash__(self) -> int:
        _refuse("a dictionary lookup", "tf.gather, or tf.case over tf.equal(tower_id, n)")

    def __bool__(self) -> bool:
        _refuse("an `if`", "tf.cond(tf.equal(tower_id, 0), ...)")

    def __index__(self) -> int:
        _refuse("a list index or a range", "tf.gather(tensor, tower_id)")

    def __int__(self) -> int:
        _refuse("int(tower_id)", "tower_id itself as a tensor")

    def __float__(self) -> float:
        _refuse("float(tower_id)", "tf.cast(tower_id, tf.float32)")

    def __neg__(self) -> Tensor:
        return -self.tensor()

    def __iter__(self) -> Any:
        _refuse("an iteration", "tensor operations")

    def __format__(self, spec: str) -> str:
        _refuse("a formatted string", "names without the tower id")

    def __repr__(self) -> str:
        return f"<TowerId of {self.axis.size}>"


def _operator(name: str) -> Any:
    def apply(self: TowerId, other: Any) -> Any:
        if isinstance(other, TowerId):
            other = other.tensor()
        if isinstance(other, Tensor) or hasattr(other, "dtype"):
            other = convert_to_tensor(other)
            return getattr(self.tensor(other.dtype), name)(other)
        return getattr(self.tensor(float32 if isinstance(other, float) else int32), name)(other)

    apply.__name__ = name
    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(TowerId, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(TowerId, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in ("lt", "le", "gt", "ge"):
    setattr(TowerId, f"__{_name}__", _operator(f"__{_name}__"))
