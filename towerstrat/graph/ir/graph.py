"""``Graph``: the operations of a program, and the stack of graphs that operations are added to.

Public functions call ``get_default_graph().add(type, inputs, attrs, name)``. ``add`` looks the type's ``OpDef`` up,
infers dtypes and shapes by its rule, and applies the scopes that are open: names, control dependencies, devices, region
(``block``), mesh axis. Nothing is computed before a session runs it.

>>> import towerstrat.compat.v1 as tf
>>> with Graph().as_default() as graph:
...     y = tf.constant([1.0, 2.0], name="x") * 3.0
>>> [(op.name, op.type, op.outputs[0].shape.as_list()) for op in graph.get_operations()]
[('x', 'Const', [2]), ('mul/y', 'Const', []), ('mul', 'Mul', [2])]

The same ``add`` executes at once in the eager context, and captures tensors from outside in a function's graph: both
are subclasses. While a tower's function is traced by itself (``trace``), ``add`` matches with the other towers'
operations.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import numpy as np

from towerstrat.graph.ir import op_registry
from towerstrat.graph.ir.context_stacks import Stack
from towerstrat.graph.ir.device_spec import DeviceLike, DeviceSpec
from towerstrat.graph.ir.graph_collections import Collections
from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor, allow_varying_writes, mark_varying
from towerstrat.graph.ir.graph_scopes import ControlScope, OperationScopes, VariableScopes
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.name_scopes import OP_NAME, SCOPE_NAME, Naming
from towerstrat.graph.ir.node_list import NodeList
from towerstrat.graph.ir.op_registry import Attrs
from towerstrat.graph.ir.shard_operations import AxisIndex, ShardOperation, ShardTensor
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import resource, string, uint32
from towerstrat.graph.ir.user_lines import UserLine, user_line
from towerstrat.platform import messages
from towerstrat.platform.data_checks import DATA_CHECKS


class PositionTrace(Protocol):
    """The trace of one shard's function.

    Attributes:
      place: its axis index.
      parts: operation that it made so far -> its view of it.
      line: the user's line that makes the next operation; None: the one that runs.
    """

    place: AxisIndex
    parts: dict[Operation, ShardOperation]
    line: UserLine | None

    def takes(self, block: Block, axis: Axis | None) -> bool:
        """Whether an operation made there, under that axis, is the shard's."""

    def add(
        self, type: str, inputs: tuple[Tensor, ...], attrs: Attrs | None, name: str | None,
        control_inputs: Iterable[Operation], block: Block,
    ) -> Operation:  # fmt: skip
        """``Graph.add`` of an operation of the shard."""

    def open(self, parent: Block, description: str) -> Block:
        """The region that the shard's operations belong to inside of the next ``Graph.body`` below ``parent``."""


class Graph(Naming, Collections):
    """A program as operations in order of creation; nothing is computed before a session runs it.

    Source: ``tensorflow/python/framework/ops.py``.

    Attributes:
      root, block: the region of the graph itself, and the one that operations are added to.
      axis: the named axis that operations are made under, or None.
      nodes: its operations.
      scopes: the scopes that are open for new ones.
      variable_scopes: the variable store, and who makes variables.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nodes = NodeList()
        self.scopes = OperationScopes()
        self.variable_scopes = VariableScopes()
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._lock = threading.RLock()
        self.root = Block(self, None, "graph")
        self.block = self.root
        self.axis: Axis | None = None
        self.trace: PositionTrace | None = None
        """The trace of one tower that operations are made in, where towers are traced one by one."""
        self.has_shard_operations = False
        """Whether some towers were traced one by one: there are views of single shards."""
        self.running_index: AxisIndex | None = None
        """The axis index whose function runs, where operations are executed eagerly for one tower after the other."""

    def cells(self) -> dict[str, StateVariable]:
        """The variables and random counters that the graph's operations use, by name."""
        used = (cell for op in self.nodes.operations for cell in (*op.reads, *op.writes))
        return {cell.name: cell for cell in used}

    # ---- building --------------------------------------------------------------------------------------------

    def add(
        self,
        type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Attrs | None = None,
        name: str | None = None,
        *,
        block: Block | None = None,
        axis: Axis | None = None,
        control_inputs: Iterable[Operation] = (),
    ) -> Operation:
        """Adds an operation and infers the dtypes and shapes of its outputs.

        Args:
          type: a registered operation type.
          inputs: tensors of this graph.
          attrs: the attributes, as the type's ``OpDef`` expects them.
          name: made unique below the current name scope; one that ends in a slash is absolute and taken as it is.
          block: the region to add it to; default the current one.
          axis: the named axis; default the current one.
          control_inputs: operations to run after, besides those of the scopes around.

        Raises:
          RuntimeError: the graph is finalized, or an eager tensor is used that it cannot capture.
          TypeError, ValueError: the inputs do not fit the type; the message names the user's line.
        """
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        if self.has_shard_operations:
            trace = self.trace
            if trace is not None and attrs and op_registry.lookup(type).random and attrs["seeds"][1] is not None:
                attrs = {**attrs, "_same_draws": True}  # a seed that the program gave means the same everywhere
            if trace is not None and axis in (None, self.axis) and trace.takes(block or self.block, self.axis):
                return trace.add(type, tuple(inputs), attrs, name, control_inputs, block or self.block)
            inputs = [self.own(t) if isinstance(t, ShardTensor) else t for t in inputs]
        return self.make(type, inputs, attrs, name, block, axis, control_inputs)

    def make(
        self, type: str, inputs: Sequence[Tensor], attrs: Attrs | None = None, name: str | None = None,
        block: Block | None = None, axis: Axis | None = None, control_inputs: Iterable[Operation] = (),
        controls: list[Operation] | None = None,
    ) -> Operation:  # fmt: skip
        """``add`` of an operation outside of the traces of single shards.

        ``controls`` are all its control inputs; None: those of the scopes around, and ``control_inputs``.
        """
        op = Operation.__new__(Operation)
        op.definition = definition = op_registry.lookup(type)
        op.type = type
        op.graph = self
        op._inputs = tuple(inputs)
        op.attrs = dict(attrs) if attrs else {}
        scopes = self.scopes
        if type in scopes.gradient_overrides:
            op.attrs["_gradient_op_type"] = scopes.gradient_overrides[type]
        op.line = user_line()
        op.block = self.block if block is None else block
        op.axis = axis or self.axis
        self._check_inputs(op)
        if definition.writes and op.axis is not None and op.axis.copies_on_write:
            allow_varying_writes(op)
        try:
            signatures = definition.rule(op._inputs, op.attrs)
        except (TypeError, ValueError) as error:
            described = ", ".join(f"{t.dtype.name}{t.shape}" for t in op._inputs)
            description = f"{(name or type).rstrip('/')} (type {type}) on ({described})"
            message = f"{error}\n  operation: {description}\n  created at: {op.line}"
            raise (TypeError if isinstance(error, TypeError) else ValueError)(message) from error
        op.name = self.operation_name(name or type, op.line)
        op._outputs = [Tensor(op, i, s.dtype, s.dims) for i, s in enumerate(signatures)]
        op.device = ""
        op._colocation = ()
        op.counter = (
            StateVariable(f"{self.state_scope}{op.name}/counter", uint32, (), default=_ZERO)
            if definition.random
            else None
        )
        self._bind_effects(op)
        if controls is None:
            controls = self.controls_of(op._inputs, op.block, control_inputs)
            if scopes.controls:
                scopes.note(op)
        op._control_inputs = controls
        if scopes.devices or scopes.colocation:
            scopes.place(op)
        for tensor in op._inputs:
            tensor._consumers.append(op)
        mark_varying(op)
        self.nodes.append(op)
        op.block.ops.append(op)
        return op

    def register(self, part: ShardOperation) -> None:
        """Enter a shard's view of an operation under its name."""
        for tensor in part._inputs:
            tensor._consumers.append(part)
        self.nodes.add_view(part)

    def own(self, tensor: Tensor) -> Tensor:
        """The tensor that an operation made now gets for ``tensor``.

        For a shard's view this is the varying tensor in the trace of that shard; elsewhere a ``SelectPosition`` of it.
        """
        tensor = self.inside(tensor)
        if not isinstance(tensor, ShardTensor):
            return tensor
        axis_index, full_tensor = tensor.op.place, tensor.whole
        if full_tensor.dtype is string and not full_tensor.varies:
            return full_tensor  # strings are on the host, where there are no shards
        if self.trace is not None and self.axis is axis_index.axis and self.trace.place is axis_index:
            return full_tensor
        selections = tensor.__dict__.setdefault("selections", {})
        block = full_tensor.op.block
        selection: Tensor | None = selections.get(block)
        if selection is None:
            attrs = {"axis": axis_index.axis, "position": axis_index.position, "own": True}
            with self.allow_changes(), self.under(None), self.control_dependencies(None):
                selection = self.make("SelectPosition", (full_tensor,), attrs, "select", block).outputs[0]
            selections[block] = selection
        return selection

    def own_operation(self, op: Operation) -> Operation:
        """The operation that runs where ``op`` is to: for a shard's view the one that it stands for."""
        return op.whole if isinstance(op, ShardOperation) else op

    def operation_name(self, name: str, line: UserLine) -> str:
        """The name of a new operation. Raises ValueError where it is none, or absolute and taken."""
        if name[-1] != "/" and not OP_NAME.match(name) and not (self.scope_name and SCOPE_NAME.match(name)):
            raise ValueError(f"'{name}' is not a valid node name")
        if name[-1] != "/":
            return self.unique_name(name)
        if (other := self.nodes.by_name.get(name[:-1])) is not None:
            raise ValueError(f"Duplicate node name in graph: '{other.name}' (created at {other.line}).\n  at: {line}")
        self._names.setdefault(name[:-1].lower(), 1)
        return name[:-1]

    def _check_inputs(self, op: Operation) -> None:
        """Raises where an input belongs to another graph or to a region that does not enclose the operation."""
        for tensor in op._inputs:
            maker = tensor.op
            if maker.graph is not self and maker.graph.executing_eagerly:
                raise RuntimeError(
                    "Attempting to capture an EagerTensor without building a function: the graph that the operation "
                    f"{op.type} (created at {op.line}) is added to was entered with as_default(), where values are fed "
                    f"or made by tf.constant. The tensor: {tensor!r}."
                )
            if maker.graph is not self:
                raise ValueError(
                    f"{tensor} (created at {maker.line}) belongs to another graph than the operation {op.type} "
                    f"(created at {op.line}). Build both inside one `with graph.as_default():`."
                )
            if maker.block is not op.block and not maker.block.encloses(op.block):
                raise ValueError(
                    f"{tensor} was made inside {maker.block.what} (at {maker.line}) and does not exist outside of it "
                    f"(used at {op.line}). Return it from there instead."
                )

    def _apply_device_functions(self, op: Any) -> None:
        """Set the device that the next operation would get on an object that stands for an operation.

        Args:
          op: its ``_set_device`` is called with a ``DeviceSpec``.
        """
        if self.current_device:
            op._set_device(DeviceSpec.from_string(self.current_device))

    def _bind_effects(self, op: Operation) -> None:
        """Set the state that the operation reads and writes (handles, random counter), and whether it checks values.

        Effects of its bodies count as its own.
        """
        definition = op.definition
        op.reads = op.writes = ()
        if definition.reads or definition.writes:
            cells = tuple(t.op.attrs["cell"] for t in op._inputs if t.dtype is resource)
            op.reads = cells if definition.reads else ()
            op.writes = cells if definition.writes else ()
        if op.counter is not None:
            op.reads += (op.counter,)
            op.writes += (op.counter,)
        asserts = definition.stateful and not definition.writes  # its check is all that it is there for
        op.checks = definition.check is not None and (asserts or DATA_CHECKS.on)
        for body in op.bodies:
            for inner in body.needed:
                op.reads += tuple(c for c in inner.reads if c not in op.reads)
                op.writes += tuple(c for c in inner.writes if c not in op.writes)
                op.checks = op.checks or inner.checks

    def controls_of(self, inputs: Sequence[Tensor], block: Block, further: Iterable[Operation] = ()) -> list[Operation]:
        """The control inputs of an operation from the scopes around, except those that an input implies already.

        Args:
          inputs: of the operation.
          block: the region that it is to be in.
          further: those that the caller gives.
        """
        controls = self.scopes.controls_of(inputs, block, further)
        return [self.own_operation(c) for c in controls] if self.has_shard_operations else controls

    @contextmanager
    def body(self, description: str) -> Iterator[Block]:
        """Operations made inside belong to a new region below the current one; ``description`` is for messages."""
        outer = self.block
        self.block = Block(self, outer, description) if self.trace is None else self.trace.open(outer, description)
        self.block.axis = self.axis
        try:
            yield self.block
        finally:
            self.block = outer

    @contextmanager
    def within(self, block: Block) -> Iterator[None]:
        """Operations made inside belong to a region that was left and is not finished."""
        saved, self.block = self.block, block
        try:
            yield
        finally:
            self.block = saved

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Operations made inside belong to no loop, branch or tower and have no control inputs from scopes."""
        saved = (self.block, self.axis)
        self.block, self.axis = self.root, None
        try:
            with self.scopes.without_controls():
                yield
        finally:
            self.block, self.axis = saved

    @contextmanager
    def under(self, axis: Axis | None) -> Iterator[None]:
        """Operations made inside run on every shard of ``axis``; None: once."""
        saved = self.axis
        self.axis = axis
        try:
            yield
        finally:
            self.axis = saved

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Operations made inside run after ``control_inputs``; None forgets those of the scopes around."""
        scope = None
        if control_inputs is not None:
            ops: list[Operation] = []
            for item in control_inputs:
                element = self.as_graph_element(item)
                op = element.op if isinstance(element, Tensor) else element
                if op not in ops:
                    ops.append(op)
            scope = ControlScope(self.block, ops)
        stack = self.scopes.controls
        stack.append(scope)
        try:
            yield
        finally:
            stack.pop()

    @contextmanager
    def device(self, device_name_or_function: DeviceLike) -> Iterator[None]:
        """Records where operations made inside were meant to run."""
        self.scopes.devices.append(device_name_or_function)
        try:
            yield
        finally:
            self.scopes.devices.pop()

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Operations made inside take the device of ``op``; the device functions around are not asked about them."""
        element = None if op is None else self.as_graph_element(op)
        base = [] if ignore_existing or element is None else list(self.scopes.colocation)
        if element is not None:
            base.append(element.op if isinstance(element, Tensor) else element)
        with self.scopes.colocate(base):
            yield

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """Operations made inside have the gradients registered under other names: type -> name."""
        scopes = self.scopes
        outer = scopes.gradient_overrides
        scopes.gradient_overrides = {**outer, **op_type_map}
        try:
            yield
        finally:
            scopes.gradient_overrides = outer

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Changes nothing: each session has its own state."""
        yield container_name

    @property
    def current_device(self) -> str:
        """The device that an operation made now would get; device functions are called on a ``NoOp``."""
        op = Operation.__new__(Operation)
        op.definition = op_registry.lookup("NoOp")
        op.type = op.name = op.device = ""
        op.attrs, op._inputs, op._control_inputs, op._colocation, op._outputs = {}, (), [], (), []
        self.scopes.place(op)
        return op.device

    # ---- finding ---------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of operations added so far, views of single shards too."""
        return self.nodes.version

    @property
    def is_empty(self) -> bool:
        """Whether nothing was made in it: no operation, and no iterator over a dataset."""
        return not self.nodes.operations and not self._state_names

    def attributes_of(self, op: Operation) -> dict[str, Any]:
        """The attributes of an operation; in the trace of a shard, as that has made it."""
        part = None if self.trace is None else self.trace.parts.get(op)
        return op.attrs if part is None else part.attrs

    def time_of(self, op: Operation) -> int:
        """The ``version`` of the graph when an operation was made; in the trace of a shard, when that made it."""
        part = None if self.trace is None else self.trace.parts.get(op)
        return op.index if part is None else part.index

    def inside(self, tensor: Tensor) -> Tensor:
        """The tensor as one of this graph; a function's graph captures a tensor from outside."""
        return tensor

    def captures(self) -> list[tuple[Tensor, Tensor]]:
        """In a function's graph, its captures as (tensor outside, placeholder inside) pairs."""
        return []

    def variable_of(self, handle: Tensor) -> Any:
        """The variable whose handle this is, or None."""
        variables = (v for key in ("variables", "local_variables") for v in self.get_collection(key))
        return next((v for v in variables if v.handle is handle), None)

    def outer_handle(self, handle: Tensor) -> Tensor | None:
        """In a function's graph, the handle outside of it that ``handle`` captures; else None."""
        return None

    def check_new_variable(self, name: str) -> None:
        """Raises ValueError in a function that must not make variables (any more)."""

    def note_variable(self, variable: Any) -> None:
        """Hook for every variable that is made while a function is traced to this graph."""

    def lifted(self, tensor: Tensor, name: str) -> Any:
        """A variable's initial value, lifted out of the function that is traced; here the tensor itself."""
        return tensor

    def variables_read(self, where: Callable[[Operation], bool]) -> list[tuple[Tensor, Any]]:
        """(handle, variable) of the variables that the operations for which ``where`` is true read."""
        known = {v.handle: v for key in ("variables", "local_variables") for v in self.get_collection(key)}
        reads = (op._inputs[0] for op in self.nodes.operations if op.definition.reads and op._inputs and where(op))
        return [(h, known[h]) for h in dict.fromkeys(reads) if h in known]

    def get_operations(self) -> list[Operation]:
        """The operations in order of creation; where towers were traced one by one, the views of each."""
        return self.nodes.list_with_views() if self.has_shard_operations else list(self.nodes.operations)

    def carried_out(self, since: int = 0) -> list[Operation]:
        """The operations that run, in order of creation: not views of single shards, but what they stand for.

        Args:
          since: the number of oldest ones to leave out.
        """
        return self.nodes.operations[since:]

    def get_operation_by_name(self, name: str) -> Operation:
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings, got {name!r}.")
        op: Operation = self.as_graph_element(name, allow_tensor=False)
        return op

    def get_tensor_by_name(self, name: str) -> Tensor:
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings, got {name!r}.")
        tensor: Tensor = self.as_graph_element(name, allow_operation=False)
        return tensor

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation of this graph that ``obj`` is or names.

        Raises:
          KeyError: no such name. ValueError: it belongs to another graph. TypeError: it is no graph element.
        """
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, str | bytes):
            return self._element_of_name(obj.decode() if isinstance(obj, bytes) else obj, allow_tensor, allow_operation)
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if (obj._graph if isinstance(obj, Tensor) else obj.graph) is not self:
                raise ValueError(f"{obj} is not an element of this graph.")
            return obj
        expected = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        raise TypeError(f"Expected a {expected} or its name, got {type(obj).__name__}: {obj!r}.")

    def _element_of_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        if ":" in name and allow_tensor:
            op_name, _, index = name.rpartition(":")
            if not index.isdigit():
                raise ValueError(f"{name!r} is not a tensor's name: expected '<operation>:<output index>'.")
            op = self.nodes.by_name.get(op_name)
            if op is None or int(index) >= len(op.outputs):
                there = f"the operation has {len(op.outputs)} outputs" if op else "there is no such operation"
                raise KeyError(f"The name '{name}' refers to a tensor that is not in the graph: {there}.")
            return op.outputs[int(index)]
        if ":" in name:
            raise ValueError(f"'{name}' looks like a tensor's name, an operation was expected.")
        if not allow_operation:
            raise ValueError(f"'{name}' names an operation, a tensor was expected: append ':0' for its first output.")
        if name not in self.nodes.by_name:
            raise KeyError(f"The name '{name}' refers to an operation that is not in the graph.")
        return self.nodes.by_name[name]

    # ---- the whole -------------------------------------------------------------------------------------------

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> messages.GraphDef:
        """The operations as a message, in order of creation, those of bodies too.

        Args:
          from_version: only those added since the graph had this ``version``.
          add_shapes: add the static shapes of outputs, as attributes ``_output_shapes``.
        """
        since = from_version or 0
        ops = (op for op in self.get_operations() if op.index >= since)
        nodes = [node for op in ops for node in self.nodes.messages.of(op, add_shapes)]
        return messages.GraphDef(node=nodes, versions=self.graph_def_versions)

    @property
    def graph_def_versions(self) -> messages.VersionDef:
        """The version of the format, that of 1.12."""
        return messages.VersionDef(producer=27)

    def as_default(self) -> AbstractContextManager[Graph]:
        """A context manager inside which operations are added to this graph."""
        return _GRAPHS.entered(self)

    @property
    def building_function(self) -> bool:
        """Whether this is the graph of a Python function that is being traced."""
        return False

    @property
    def home(self) -> Graph:
        """The graph that variables made here belong to: this one, or the one around a function."""
        return self

    seed: int | None = None
    """The seed of the graph, ``tf.set_random_seed``."""
    variable_class: type | None = None
    """The class that ``tf.Variable`` makes here; None: ``Variable``."""
    what = "the graph"
    """The graph's name in messages."""
    keeps_effects = False
    """True where operations with effects run although no fetch needs them, as in functions."""
    executing_eagerly = False
    """True where operations are executed as they are added."""

    def prevent_feeding(self, tensor: Tensor) -> None:
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable


_ZERO = np.zeros((), np.uint32)
_GRAPHS: Stack[Graph] = Stack()


class _Ground:
    """The execution context of this process outside of all entered graphs.

    Attributes:
      context: the eager context, if programs run eagerly there; None: the thread's global graph.
    """

    context: Graph | None = None


def get_default_graph() -> Graph:
    """The graph that operations are added to: the one entered last, else the eager context, else the global graph."""
    if _GRAPHS.entries:
        return _GRAPHS.entries[-1]
    return _Ground.context or _bottom()


def global_graph() -> Graph:
    """The graph entered last, else the global one, under eager execution too."""
    for graph in reversed(_GRAPHS.entries):
        if not graph.executing_eagerly:
            return graph
    return _bottom()


def _bottom() -> Graph:
    """This thread's global graph, below all that are entered."""
    if _GRAPHS.default is None:
        _GRAPHS.default = Graph()
    return _GRAPHS.default


def default_graph_of(graph: Graph) -> Graph:
    """The graph with a program's collections: the graph around functions, under eager execution the global one."""
    home = graph.home
    if not home.executing_eagerly:
        return home
    plain = (g for g in reversed(_GRAPHS.entries) if not g.executing_eagerly and not g.building_function)
    return next(plain, None) or _bottom()


def set_ground(context: Graph | None) -> None:
    """Execute operations in an eager context where no graph was entered; None: add them to the global graph."""
    _Ground.context = context


def ground() -> Graph | None:
    """The eager context if programs run eagerly where they have entered no graph, else None."""
    return _Ground.context


def enter(graph: Graph) -> AbstractContextManager[Graph]:
    """A context manager inside which operations are added to ``graph``."""
    return _GRAPHS.entered(graph)


def entered_graphs() -> list[Graph]:
    """The graphs that this thread has entered, the innermost last."""
    return list(_GRAPHS.entries)


def reset_default_graph() -> None:
    """Starts a new global default graph. Raises AssertionError inside ``with graph.as_default():``."""
    if any(not g.executing_eagerly for g in _GRAPHS.entries):
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _GRAPHS.default = None
