"""The base of variables with a copy on each tower, and their copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.eager.tensor import shown
from towerstrat.graph.ir.composite_values import Convertible
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.python_operators import Operators
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.engine.distributed_values import DistributedValues
from towerstrat.towers.engine.engine import Engine

HOW = {
    VariableAggregation.SUM: "sum",
    VariableAggregation.MEAN: "mean",
    VariableAggregation.ONLY_FIRST_TOWER: "first",
}


class _ComponentOp(NamedTuple):
    """The ``op`` of a component: name, graph, type and device of its variable's operation."""

    name: str
    graph: Graph
    type: str
    device: str


class Component(Operators, Convertible):
    """One tower's copy of a distributed variable, for looking at; assign to the variable itself.

    Args:
      container: the distributed variable.
      position: the tower's number.
    """

    def __init__(self, container: Any, position: int):
        self._container = container
        self._position = position
        self._element: Tensor | None = None
        """The tensor that a session fetches for it, made once."""

    def _overloaded(self) -> Tensor:
        return self.value()

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Tensor:
        return convert_to_tensor(self.value(), dtype, name)

    def _distributed_container(self) -> Any:
        return self._container

    @property
    def _base_name(self) -> str:
        name = self._container._handle.op.name
        return f"{name}/replica_{self._position}" if self._position else name

    @property
    def name(self) -> str:
        return f"{self._base_name}:0"

    @property
    def op(self) -> _ComponentOp:
        return _ComponentOp(self._base_name, self.graph, self._container._handle.op.type, self.device)

    @property
    def device(self) -> str:
        return self._container.devices[self._position]

    @property
    def graph(self) -> Graph:
        return self._container.graph

    @property
    def dtype(self) -> DType:
        return self._container.dtype

    @property
    def shape(self) -> TensorShape:
        return self._container.shape

    def get_shape(self) -> TensorShape:
        return self._container.shape

    @property
    def trainable(self) -> bool:
        return self._container.trainable

    @property
    def handle(self) -> Tensor:
        return self._container.handle

    @property
    def initializer(self) -> Operation:
        return self._container.initializer

    @property
    def initial_value(self) -> Tensor:
        return self._container.initial_value

    def value(self) -> Tensor:
        """This copy's value."""
        return self._container._component_value(self._position)

    read_value = value

    def _as_graph_element(self) -> Tensor:
        if self._element is None:
            with self.graph.outside():
                self._element = self._container._component_element(self._position)
        return self._element

    def eval(self, session: Any = None) -> Any:
        return self.value().eval(session=session)

    def numpy(self) -> Any:
        """A copy of this copy's value, where operations are executed eagerly."""
        return self.value().numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.numpy(), dtype)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"{self.name} is one copy of {self._container!r}; assigning to it alone would make the copies differ. "
            "Assign to the variable, or use distribution.update(variable, fn, ...)."
        )

    assign = assign_add = assign_sub = scatter_update = scatter_add = scatter_sub = _refuse

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Component) and other._container is self._container and other._position == self._position
        )

    def __hash__(self) -> int:
        return hash((id(self._container), self._position))

    def __repr__(self) -> str:
        value = f", numpy={shown(self.value(), repr)}" if get_default_graph().executing_eagerly else ""
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}{value}>"


if TYPE_CHECKING:
    _InFrontOfVariable = Variable
else:
    _InFrontOfVariable = object


class _Components(Mapping[str, Component]):
    """Device -> the copy there; a copy is made when asked for, and its variable does not keep it alive."""

    def __init__(self, variable: Any, devices: Sequence[str]):
        self._variable = ref(variable)
        self._devices = tuple(devices)
        self._made: WeakValueDictionary[int, Component] = WeakValueDictionary()

    def __getitem__(self, device: str) -> Component:
        if device not in self._devices:
            raise KeyError(device)
        position = self._devices.index(device)
        found = self._made.get(position)
        if found is None:
            found = self._made[position] = Component(self._variable(), position)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._devices)

    def __len__(self) -> int:
        return len(self._devices)


class DistributedVariableMixin(_InFrontOfVariable):
    """A variable with a copy on each tower: a mixin in front of a class of variables.

    Args:
      engine: the engine of the strategy that makes it.
      devices: canonical names, in tower order.
      aggregation: how values assigned by several towers become one.
      **kwargs: as of ``tf.Variable``.
    """

    _index: Mapping[str, Any]
    _use_resource = True

    def __init__(
        self,
        engine: Engine,
        devices: Sequence[str],
        aggregation: VariableAggregation,
        axis: Axis | None = None,
        **kwargs: Any,
    ):
        combine = HOW.get(aggregation, "sum")
        super().__init__(aggregation=aggregation, axis=axis, combine=combine, **kwargs)
        self._engine = engine
        self._index = _Components(self, devices)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def local(self) -> Any:
        return self

    @property
    def _devices(self) -> tuple[str, ...]:
        """The devices of its copies, as libraries ask for them."""
        return tuple(self._index)

    @property
    def primary(self) -> Any:
        return self

    @property
    def is_tensor_like(self) -> bool:
        return True

    def get(self, device: str | None = None) -> Any:
        """The copy on a device; without one the variable itself, which is each tower's own in tower context."""
        return self if device is None else DistributedValues.get(self, device)  # type: ignore[arg-type]

    def _component_value(self, position: int) -> Tensor:
        raise NotImplementedError

    def _whole(self, axis: Axis) -> ShardedTensor:
        """All copies, eagerly."""
        eager: Any = get_default_graph().home
        stored = self._cell.stacked(eager.session.state.share_buffer(self._cell))
        return ShardedTensor(eager, stored, self.dtype, axis, self._cell.dims)

    def _component_element(self, position: int) -> Tensor:
        return self._component_value(position)

    def _as_written(self, op: Operation) -> Tensor:
        """The value where the assignment is: a tower's, or that of all."""
        return self._read_after([op])
