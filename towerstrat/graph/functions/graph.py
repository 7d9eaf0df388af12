"""``FunctionGraph``: the graph of a traced Python function. Outside tensors that it uses are captured as inputs.

``add`` sends each input through ``inside``, which makes of a tensor of an enclosing graph, or an eager one, something
of this graph:

    scale = tf.constant(2.)                 captured: scale -> a Placeholder here
    v = tf.Variable(...)                    handles: v.handle -> a VarHandleOp here, on the same state variable
    n = tf.constant(3)  (an integer)        a Const with its value: so shape arithmetic folds while lowering
    f = tf.function(lambda x: v * x * scale + tf.zeros([n]))

>>> from towerstrat.graph.eager.context import context
>>> from towerstrat.graph.eager import mode
>>> from towerstrat.graph.ir.tensor_conversion import constant
>>> with mode.eager_mode():
...     scale, n = constant(2.0), constant(3)
>>> graph = FunctionGraph(context(), "f")
>>> graph.inside(scale).op.type, graph.inside(n).op.type, len(graph.captured)
('Placeholder', 'Const', 1)

A tensor of a graph that does not enclose this one raises TypeError: it escaped from another trace.

A call in a graph copies the operations there (``inline``), the effects with them; eager calls run the graph as a plan
(``Traced``). Variables made while tracing are made outside of the trace (``lifted``), on the first trace only. In a
function that runs for one replica, a variable that may differ by replica is read through a copy that stands for this
replica's value (``copies``, ``EagerContext.standing_in``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from towerstrat.graph.eager.context import EagerContext
from towerstrat.graph.eager.positions import ShardedTensor
from towerstrat.graph.eager.tensor import EagerTensor, Handle
from towerstrat.graph.functions.inline import Executing
from towerstrat.graph.ir.graph import Graph, default_graph_of
from towerstrat.graph.ir.graph_elements import Operation, Tensor, execution_order, has_effect
from towerstrat.graph.ir.operation_copying import Copying
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import resource, variant
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.variables.variables import Variable

_EMBEDDED = 4096
"""Elements up to which a captured eager tensor without a gradient becomes a constant of the graph."""


class FunctionGraph(Graph):
    """The graph of a traced function (TensorFlow's ``FuncGraph``). Outside tensors that it uses become inputs.

    Args:
      outer: the graph in which the function is traced. Names and seeds come from there, and tensors of it and of the
        graphs around it may be captured.
      name: of the function.
      shares_collections: whether what is added to any collection is added outside too, as in 1.12; else, as later, only
        variables are.

    Attributes:
      captured: outside tensor -> its placeholder here.
      handles: outside handle of a variable -> its handle here, on the same state variable. ``outside_of`` is the
        inverse.
      copies: in a function of one replica: a state variable that may vary -> the one that holds this replica's value.
      variables: weak references to the variables made while the function was traced.
      creates: whether variables may be made.
    """

    keeps_effects = True

    def __init__(self, outer: Graph, name: str, shares_collections: bool = False):
        super().__init__()
        self.outer = outer
        self.name = name
        around = default_graph_of(outer) if outer.executing_eagerly else outer
        self._collections = around.collections_of_function(shares_collections)
        self.what = f"the function {name}"
        self._state_scope = f"{outer.state_name(name)}/"
        self.variable_class = outer.variable_class
        self.creators.extend(outer.creators)
        self.seed = outer.seed
        self.captured: dict[Tensor, Tensor] = {}
        self.handles: dict[Tensor, Tensor] = {}
        self.outside_of: dict[Tensor, Tensor] = {}
        self.variables: list[weakref.ref[Variable]] = []
        self.creates = True
        self.running_index = outer.running_index
        self.copies: dict[StateVariable, StateVariable] = {}

    @property
    def building_function(self) -> bool:
        return True

    @property
    def state_scope(self) -> str:
        return self._state_scope

    @property
    def home(self) -> Graph:
        return self.outer.home

    @property
    def outer_graph(self) -> Graph:
        """The graph in which it is traced: of eager code, the default graph."""
        return default_graph_of(self.outer) if self.outer.executing_eagerly else self.outer

    @property
    def stands_alone(self) -> bool:
        """Whether it captures eager tensors only, so that it can be called from anywhere."""
        return all(isinstance(t, EagerTensor) for t in (*self.captured, *self.handles))

    def add(self, type: str, inputs: Sequence[Tensor] = (), *args: Any, **kwargs: Any) -> Operation:
        return super().add(type, [t if t._graph is self else self.inside(t) for t in inputs], *args, **kwargs)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, Tensor) and allow_tensor:
            return self.inside(obj)
        return super().as_graph_element(obj, allow_tensor, allow_operation)

    def inside(self, tensor: Tensor) -> Tensor:
        """The tensor of this graph for ``tensor``; an outside tensor is captured on first use.

        Raises:
          TypeError: the tensor belongs to a graph that does not enclose this one.
        """
        if tensor._graph is self:
            return tensor
        if tensor.dtype is resource:
            inner = self.handles.get(tensor)
            return self._handle(tensor) if inner is None else inner
        inner = self.captured.get(tensor)
        if inner is None:
            self._check_around(tensor)
            inner = self._embed(tensor) if isinstance(tensor, EagerTensor) else None
            if inner is None:
                attrs: dict[str, Any] = {"dtype": tensor.dtype, "shape": tensor.dims}
                if isinstance(tensor, ShardedTensor):
                    attrs["axis"] = tensor.axis
                with self.outside():
                    kind = "PositionInput" if "axis" in attrs else "Placeholder"
                    inner = super().add(kind, (), attrs, tensor.op.name, axis=attrs.get("axis")).outputs[0]
                inner.varies = tensor.varies
                self.captured[tensor] = inner
        return inner

    def captures(self) -> list[tuple[Tensor, Tensor]]:
        pairs = (*self.captured.items(), *self.handles.items())
        return [*self.outer.captures(), *((t, inner) for t, inner in pairs if not isinstance(t, EagerTensor))]

    def _handle(self, tensor: Tensor) -> Tensor:
        self._check_around(tensor)
        name = tensor.op.name
        attrs = tensor.op.attrs
        if self.running_index is not None and isinstance(tensor, Handle) and tensor.cell.may_differ:
            cell = tensor.cell
            copy = self.copies.setdefault(cell, StateVariable(cell.name, cell.dtype, cell.dims))
            attrs = {**attrs, "cell": copy}
        with self.outside():
            # Eager variables may have one name, operations of a graph not.
            handle_name = name if name in self.nodes.by_name else f"{name}/"
            handle = super().add(tensor.op.type, (), attrs, handle_name).outputs[0]
        self.handles[tensor] = handle
        self.outside_of[handle] = tensor
        return handle

    def _embed(self, tensor: EagerTensor) -> Tensor | None:
        """A constant of the tensor's value, or None where it has to be an input.

        Constants let shape arithmetic fold while the function is lowered. A value on a device is embedded only where
        it is small, since that copies it to the host.
        """
        array = tensor.array
        if (
            tensor.varies
            or tensor.dtype.is_differentiable
            or tensor.dtype is variant
            or array.size > _EMBEDDED
            or (isinstance(array, jax.Array) and array.size > 64)
        ):
            return None
        with self.outside():
            return super().add("Const", (), {"value": tensor.host(), "dtype": tensor.dtype}, "Const").outputs[0]

    def _check_around(self, tensor: Tensor) -> None:
        """Raise TypeError unless the tensor is eager or of a graph that encloses this one."""
        graph: Graph | None = self.outer
        while graph is not None:
            if tensor._graph is graph:
                return
            graph = getattr(graph, "outer", None)
        if isinstance(tensor, EagerTensor):
            return
        maker = tensor._graph
        if maker.building_function:
            raise TypeError(
                f"{tensor!r} is out of scope: it was made in {maker.what} (created at {tensor.op.line}) and cannot "
                f"be used in {self.what}. Return it from there and pass it as an argument."
            )
        raise TypeError(
            f"{tensor!r} (created at {tensor.op.line}) belongs to another graph than {self.what}. Build both "
            "inside one graph, or pass the tensor's value."
        )

    # ---- variables -------------------------------------------------------------------------------------------

    def check_variables_kept(self) -> None:
        """Check that each variable made while tracing is still referenced by the program.

        Raises:
          ValueError: one was collected: each call of the Python function would make a new one.
        """
        for handle in self.handles:
            if isinstance(handle, Handle) and handle.made_in is self and handle.variable() is None:
                raise ValueError(
                    f"{self.what} makes variable {handle.name[:-2]} (at {handle.op.line}) and does not keep it: each "
                    "call would make a new one, and tf.function only supports singleton tf.Variables created on the "
                    "first call. Make it outside, or keep it (`if self.v is None: self.v = tf.Variable(...)`)."
                )

    def check_new_variable(self, name: str) -> None:
        if not self.creates:
            raise ValueError(
                f"Variable {name} is made by {self.what} (at {user_line()}), which was traced before: tf.function only "
                "supports singleton tf.Variables created on the first call. Make the variable outside, or keep it (`if "
                "self.v is None: self.v = tf.Variable(...)`)."
            )
        self.outer.check_new_variable(name)

    def note_variable(self, variable: Variable) -> None:
        self.variables.append(weakref.ref(variable))
        self.outer.note_variable(variable)

    def lifted(self, tensor: Tensor, name: str) -> Tensor:
        """The initial value of a variable, computed outside of the trace: eagerly, or copied into the graph around.

        Args:
          tensor: the initial value, of this graph.
          name: the variable's, for the message.

        Raises:
          ValueError: the value depends on an argument of the function, or is made in a branch or loop.
        """
        if tensor._graph is not self:
            value: Tensor = self.outer.lifted(tensor, name)
            return value
        known = {inner: self.outer.lifted(outer, name) for outer, inner in self.captured.items()}
        order = execution_order([tensor.op], self.root, known)
        wrong = next((op for op in order if op.definition.is_placeholder and not op.inputs), None)
        if wrong is not None or tensor.op.block is not self.root:
            where = f"the argument {wrong.name}" if wrong is not None else "a branch or loop"
            raise ValueError(
                f"The initial value of variable {name} depends on {where} of {self.what} (created at "
                f"{tensor.op.line}): a variable is initialized once, before the function runs. Pass a function that "
                "makes the initial value (initial_value=lambda: ...), or assign in the function."
            )
        home = self.home
        making = Executing(home, known) if isinstance(home, EagerContext) else Copying(home, known)
        with home.outside():
            making.copy(order)
        return making.tensors[tensor]

    # ---- calls -----------------------------------------------------------------------------------------------

    def effects(self) -> list[Operation]:
        """The operations that run in each call, whether an output needs them or not."""
        return [op for op in self.root.ops if has_effect(op)]

    def inline(self, outputs: Sequence[Tensor], arguments: Mapping[Tensor, Tensor], target: Graph) -> list[Tensor]:
        """Copy the function's operations, with its effects, into the graph that calls it.

        Args:
          outputs: tensors of this graph.
          arguments: the arguments: input of the function -> tensor of ``target``.
          target: the calling graph; in the eager context the operations are executed.

        Returns:
          The tensors of ``target`` that correspond to ``outputs``.
        """
        mapping = {inner: target.inside(outer) for outer, inner in self.captured.items()}
        mapping.update(arguments)
        effects = self.effects()
        order = execution_order([*(t.op for t in outputs if t not in mapping), *effects], self.root, mapping)
        if isinstance(target, EagerContext):
            executing = Executing(target, mapping)
            executing.copy(order)
            return [executing.tensors[t] for t in outputs]
        copying = Copying(target, mapping)
        copying.copy(order)
        copies = [copying.tensors[t] for t in outputs]
        if not effects or target.building_function:
            return copies
        # A plain graph runs only what is fetched: make each output depend on the function's effects.
        first = [copying.operations[op] for op in effects]
        return [target.add("Identity", (t,), control_inputs=first).outputs[0] for t in copies]

    def variables_read(self, where: Callable[[Operation], bool]) -> list[tuple[Tensor, Variable]]:
        outside = self.outside_of
        reads = (op._inputs[0] for op in self.nodes.operations if op.definition.reads and op._inputs and where(op))
        pairs = ((h, self._variable(outside[h])) for h in dict.fromkeys(reads) if h in outside)
        return [(h, v) for h, v in pairs if v is not None]

    def _variable(self, handle: Tensor) -> Variable | None:
        if isinstance(handle, Handle):
            variable: Variable | None = handle.variable()
            return variable
        around: Variable | None = self.outer.variable_of(handle)
        return around

    def outer_handle(self, handle: Tensor) -> Tensor | None:
        return self.outside_of.get(handle)

    def variable_of(self, handle: Tensor) -> Variable | None:
        """The variable of a handle of this graph or of one that encloses it; None where it was collected."""
        outer = self.outside_of.get(handle)
        return self.outer.variable_of(handle) if outer is None else self._variable(outer)
