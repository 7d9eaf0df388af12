"""Eager tensors: tensors that have a value, and the handles of eager variables.

An ``EagerTensor`` wraps a numpy array or a ``jax.Array``, whichever the operation gave, and converts only when asked
(``host``, ``device_array``). Code that looks at the operation behind a tensor gets a ``Const`` made on demand
(``_maker``): eager operations themselves are not kept.

>>> from towerstrat.graph.ir.types import float32
>>> tensor = EagerTensor(None, np.ones(2, np.float32), float32)
>>> tensor.dims, tensor.host() is tensor.array
((2,), True)

A ``Handle`` is the resource tensor of a variable. It refers to the variable weakly and is what tapes follow and
functions capture; when it is collected, the session's state drops the variable's value.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import jax
import numpy as np

from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.argument_types import ShapeLike
from towerstrat.graph.ir.context_stacks import SessionLike
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.types import Array, DType, HostArray, resource, string
from towerstrat.graph.ir.user_lines import user_line

if TYPE_CHECKING:
    from towerstrat.graph.eager.context import EagerContext


class EagerTensor(Tensor):
    """A tensor with a value: a numpy array on the host, or a ``jax.Array`` on a device. Neither is ever written to.

    >>> import numpy as np
    >>> from towerstrat.graph.ir.types import float32
    >>> EagerTensor(None, np.ones(2, np.float32), float32).numpy()
    array([1., 1.], dtype=float32)
    """

    __slots__ = ("_context", "_op", "array")

    array: Any

    def __init__(self, context: EagerContext, array: Array, dtype: DType):
        self._context = context
        self.array = array
        self.dtype = dtype
        self.dims = array.shape
        self.varies = False
        self.value_index = 0
        self._op: Operation | None = None

    @property
    def _consumers(self) -> list[Operation]:  # type: ignore[override]
        return []

    @property
    def op(self) -> Operation:  # type: ignore[override]
        """A ``Const`` of this value, for code that looks at the operation behind a tensor."""
        if self._op is None:
            self._op = _maker(self, "Const", {"value": self.host(), "dtype": self.dtype})
        return self._op

    @property
    def _graph(self) -> EagerContext:
        return self._context

    @property
    def graph(self) -> NoReturn:
        """Raise AttributeError, by which libraries tell eager tensors from those of graphs."""
        raise AttributeError("Tensor.graph is undefined when eager execution is enabled.")

    @property
    def name(self) -> str:
        return "EagerTensor:0"

    @property
    def device(self) -> str:
        if isinstance(self.array, jax.Array):
            device = next(iter(self.array.devices()))
            return f"/job:localhost/replica:0/task:0/device:{device.platform.upper()}:{device.id}"
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    backing_device = device

    def host(self) -> HostArray:
        """The value as a numpy array that must not be written to."""
        array = self.array
        return array if isinstance(array, np.ndarray) else np.asarray(array)

    def numpy(self) -> Any:
        """A copy of the value: a numpy array, or for a scalar a numpy scalar (bytes for a string)."""
        array = self.host()
        if array.ndim:
            return np.array(array)
        return array.item() if self.dtype is string else array[()]

    _numpy = numpy

    def part(self, position: int) -> EagerTensor:
        """The value at one replica: this tensor, since it is the same at all."""
        return self

    def set_shape(self, shape: ShapeLike) -> None:
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {shape}.")

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None) -> NoReturn:
        raise NotImplementedError("eval() is not supported when executing eagerly; use tensor.numpy().")

    def consumers(self) -> list[Operation]:
        raise NotImplementedError("A tensor with a value has no consumers; nothing is kept of what uses it.")

    # ---- Python ----------------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.host()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        # Who gets it may write to it.
        return array if copy is False else np.array(array)

    def __jax_array__(self) -> jax.Array:
        return self.device_array()

    def device_array(self) -> jax.Array:
        """The value as a ``jax.Array``."""
        if not isinstance(self.array, jax.Array):
            with jax.enable_x64(True):
                return jax.numpy.asarray(self.array)
        return self.array

    def __bool__(self) -> bool:
        return bool(self.host())

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("Scalar tensor has no `len()`.")
        return self.dims[0]  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Any]:
        if not self.dims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        if self._context.recording((self,)) and self.dims[0]:
            return iter(self._context.add("Unpack", (self,), {"axis": 0, "num": self.dims[0]}).outputs)
        return iter([EagerTensor(self._context, np.asarray(row), self.dtype) for row in self.host()])

    def __int__(self) -> int:
        return int(self.host())

    def __float__(self) -> float:
        return float(self.host())

    def __complex__(self) -> complex:
        return complex(self.host())

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise TypeError(f"Only integer scalar tensors can be used as an index, got {self!r}.")
        return self.host().__index__()

    def __format__(self, form: str) -> str:
        return format(self.numpy(), form)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.numpy(), digits) if digits is not None else round(self.numpy())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.host(), self.dtype.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> EagerTensor:
        return EagerTensor(self._context, copy.copy(self.host()), self.dtype)

    def __str__(self) -> str:
        return f"tf.Tensor({shown(self, str)}, shape={self._dims_text()}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self._dims_text()}, dtype={self.dtype.name}, numpy={shown(self, repr)}>"

    def _dims_text(self) -> str:
        return str(tuple(self.dims or ()))


class _Known(Protocol):
    """An eager tensor or variable."""

    def numpy(self) -> Any: ...


def shown(tensor: _Known, form: Callable[[Any], str]) -> str:
    """The value of a tensor or variable as text.

    Args:
      tensor: an eager tensor, or anything with ``numpy()``.
      form: ``str`` or ``repr``, applied to arrays. Text of several lines begins on a line of its own; a scalar is shown
        by ``str``.
    """
    value = tensor.numpy()
    if isinstance(value, np.generic):
        return str(value)
    text = form(value)
    return f"\n{text}" if "\n" in text else text


def _rebuilt(array: HostArray, dtype: str) -> Tensor:
    return constant(array, dtype)


def _maker(tensor: EagerTensor, type: str, attrs: dict[str, Any]) -> Operation:
    """An operation that is in no graph, with the tensor as its output."""
    op = Operation.__new__(Operation)
    op.definition = op_registry.lookup(type)
    op.type = type
    op.name = tensor.name.rpartition(":")[0]
    op.graph = tensor._graph
    op.attrs = attrs
    op._outputs = [tensor]
    op.device = ""
    op.index = 0
    op.block = tensor._graph.root
    op.axis = None
    op.line = user_line()
    op.reads = op.writes = ()
    op.checks = False
    op.counter = None
    op._inputs = ()
    op._control_inputs = []
    op._colocation = ()
    return op


_NO_VALUE = np.zeros((), np.uint8)


class Handle(EagerTensor):
    """The resource tensor of an eager variable. The variable's value lives as long as its handle.

    Attributes:
      cell: the state variable that holds its value in the eager session's state.
      trainable: whether tapes watch the variable when it is read.
      variable: a weak reference: returns the variable, or None when it was collected.
      made_in: the graph that was current when the variable was made: the eager context, or a function's graph.
    """

    __slots__ = ("_name", "cell", "made_in", "trainable", "variable")

    variable: Callable[[], Any]
    made_in: Graph

    def __init__(self, context: EagerContext, cell: StateVariable, name: str, trainable: bool):
        super().__init__(context, _NO_VALUE, resource)
        self.cell = cell
        self.trainable = trainable
        self._name = name
        self._op = _maker(self, "VarHandleOp", {"cell": cell})

    @property
    def name(self) -> str:
        return f"{self._name}:0"

    def __repr__(self) -> str:
        return f"<tf.Tensor: handle of variable {self._name}>"

    __str__ = __repr__
