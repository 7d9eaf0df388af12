"""Variables of a strategy: mirrored on all towers, or one per tower."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from towerstrat.graph.eager.tensor import shown
from towerstrat.graph.ir.composite import Convertible
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.core import Graph, get_default_graph
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.operators import Operators
from towerstrat.graph.ir.shapes import TensorShape
from towerstrat.graph.ir.types import DType
from towerstrat.graph.ops import collectives
from towerstrat.graph.variables.variables import Variable, VariableAggregation
from towerstrat.towers.engine import contexts
from towerstrat.towers.engine.values import DistributedValues, Mirrored, PerDevice

HOW = {
    VariableAggregation.SUM: "sum",
    VariableAggregation.MEAN: "mean",
    VariableAggregation.ONLY_FIRST_TOWER: "first",
}


class _ComponentOp(NamedTuple):
    """What is asked of a component's operation: its name, graph, type and device."""

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
        """What a session fetches for it, always the same."""

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


class Shared(_InFrontOfVariable):
    """What variables with a copy on each tower have in common: a mixin in front of a class of variables.

    Args:
      strategy: whose towers.
      devices: canonical names, in tower order.
      aggregation: how values assigned by several towers become one.
      **kwargs: as of ``tf.Variable``.
    """

    _index: Mapping[str, Any]

    def __init__(
        self,
        strategy: Any,
        devices: list[str],
        aggregation: VariableAggregation,
        axis: Axis | None = None,
        **kwargs: Any,
    ):
        combine = HOW.get(aggregation, "sum")
        super().__init__(aggregation=aggregation, axis=axis, combine=combine, **kwargs)
        self._strategy = strategy
        self._index = _Components(self, devices)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def local(self) -> Any:
        return self

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

    def _component_element(self, position: int) -> Tensor:
        return self._component_value(position)


class DistributedVariable(Shared, Variable, DistributedValues):
    """A variable of a graph with a copy on each tower."""


class MirroredVariable(DistributedVariable, Mirrored):
    """A variable whose copies are kept equal.

    In tower context an assignment combines the towers' values by the variable's aggregation. In cross-tower context and
    in ``update``, it sets all copies.
    """

    def _component_value(self, position: int) -> Tensor:
        return self.value()

    def _component_element(self, position: int) -> Tensor:
        return self._handle

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        if contexts.get_tower_context() is None or not contexts.has_distribution_strategy():
            return Variable._change(self, type, inputs, name, read_value)
        if self._aggregation == VariableAggregation.NONE:
            raise ValueError(
                "You must specify an aggregation method to update a MirroredVariable in Tower Context. "
                f"Variable {self.name}, created at {self.created_at}: pass aggregation=tf.VariableAggregation.MEAN (or "
                "SUM, ONLY_FIRST_TOWER) when it is made, or update it in a merge_call."
            )

        def merge_fn(strategy: Any, *values: Any) -> Any:
            combined = [strategy.reduce(self._aggregation, v, destinations=self) for v in values]
            return strategy.update(self, lambda v, *c: Variable._change(v, type, c, name, read_value), *combined)

        return contexts.get_tower_context().merge_call(merge_fn, *inputs)

    def _assign(self, type: str, value: Any, name: str, read_value: bool) -> Any:
        """An assignment; plain Python values reach the aggregation as they are."""
        in_towers = contexts.get_tower_context() is not None and contexts.has_distribution_strategy()
        if (
            not in_towers
            or isinstance(value, Tensor | DistributedValues)
            or self._aggregation == VariableAggregation.NONE
        ):
            return self._change(type, [self._operand(value)], name, read_value)

        def merge_fn(strategy: Any) -> Any:
            combined = strategy.reduce(self._aggregation, value, destinations=self)
            return strategy.update(
                self, lambda v, c: Variable._change(v, type, [v._operand(c)], name, read_value), combined
            )

        return contexts.get_tower_context().merge_call(merge_fn)

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        return self._assign("AssignVariableOp", value, name or "Assign", read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return self._assign("AssignAddVariableOp", delta, name or "AssignAdd", read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        return self._assign("AssignSubVariableOp", delta, name or "AssignSub", read_value)


class TowerLocalVariable(DistributedVariable, PerDevice):
    """A variable of which every tower has its own; outside, it is their sum or mean. Never trainable."""

    def __init__(self, strategy: Any, devices: list[str], aggregation: VariableAggregation, axis: Axis, **kwargs: Any):
        super().__init__(strategy, devices, aggregation, axis, **kwargs)
        self._axis = axis

    def _local_read(self) -> Tensor:
        return Variable._read(self)

    def _read(self) -> Tensor:
        if get_default_graph().axis is not None:
            return self._local_read()
        with get_default_graph().under(self._axis):
            own = self._local_read()
        return collectives.all_reduce(own, self._axis, self._cell.combine, f"{self.op.name}/aggregate")

    def _component_value(self, position: int) -> Tensor:
        with get_default_graph().under(self._axis):
            own = self._local_read()
        return collectives.select(own, self._axis, position)

    def _change(self, type: str, inputs: Any, name: str | None, read_value: bool = True) -> Any:
        if get_default_graph().axis is None:
            raise RuntimeError(
                f"Tower-local variables may only be assigned in a tower context. Variable {self.name}, created at "
                f"{self.created_at}."
            )
        return Variable._change(self, type, inputs, name, read_value)

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """In tower context this tower's own value; outside every tower's, a SUM is divided among them."""
        if get_default_graph().axis is not None:
            return Variable.assign(self, value, use_locking, name, read_value)
        tensor = self._share(self._operand(value))
        graph = get_default_graph()
        return graph.add("AssignVariableOp", (self._handle, tensor), None, name or "Assign", axis=self._axis)

    def load(self, value: Any, session: Any = None) -> None:
        super().load(self._share(np.asarray(value, self.dtype.np)), session)

    def _share(self, value: Any) -> Any:
        """What each tower holds so that together they are ``value``."""
        if self._aggregation != VariableAggregation.SUM or self.dtype.is_bool:
            return value
        return value // len(self._index) if self.dtype.is_integer else value * (1.0 / len(self._index))


def make_variable(strategy: Any, axis: Axis, devices: list[str], local: bool) -> Callable[..., Any]:
    """How the end of the creators' chain makes a strategy's variable."""

    def make(**kwargs: Any) -> DistributedVariable:
        aggregation = kwargs.pop("aggregation", VariableAggregation.NONE)
        if local:
            kwargs["trainable"] = False
            return TowerLocalVariable(strategy, devices, aggregation, axis, **kwargs)
        return MirroredVariable(strategy, devices, aggregation, **kwargs)

    return make
