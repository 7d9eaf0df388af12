"""Graph, Operation, Tensor and Block: a program as it is written down, before anything runs."""

from __future__ import annotations

import heapq
import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from towerstrat.graph import registry, shapes
from towerstrat.graph.device import merge_device
from towerstrat.graph.mesh import Axis
from towerstrat.graph.registry import OpDef
from towerstrat.graph.shapes import Dims, TensorShape, as_shape
from towerstrat.graph.state import Cell
from towerstrat.graph.trace import UserLine, user_line
from towerstrat.graph.types import DType, resource, uint32

_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class Tensor:
    """One output of an operation: a value that a run will compute.

    Attributes:
      op: the operation that makes it.
      value_index: which output of it.
      dtype: element type.
      varies: whether it may differ along the named axis it was made under.
    """

    __slots__ = ("op", "value_index", "dtype", "dims", "varies", "_consumers", "__weakref__")
    __array_priority__ = 100

    OVERLOADABLE_OPERATORS: ClassVar[set[str]] = set()

    if TYPE_CHECKING:
        # The operators are set by the families of operations (``_override_operator``).
        _Operator = Callable[..., Any]
        __getitem__: _Operator
        __add__: _Operator
        __radd__: _Operator
        __sub__: _Operator
        __rsub__: _Operator
        __mul__: _Operator
        __rmul__: _Operator
        __truediv__: _Operator
        __rtruediv__: _Operator
        __floordiv__: _Operator
        __rfloordiv__: _Operator
        __mod__: _Operator
        __rmod__: _Operator
        __pow__: _Operator
        __rpow__: _Operator
        __matmul__: _Operator
        __rmatmul__: _Operator
        __and__: _Operator
        __rand__: _Operator
        __or__: _Operator
        __ror__: _Operator
        __xor__: _Operator
        __rxor__: _Operator
        __lt__: _Operator
        __le__: _Operator
        __gt__: _Operator
        __ge__: _Operator
        __neg__: _Operator
        __invert__: _Operator
        __abs__: _Operator

    def __init__(self, op: Operation, value_index: int, dtype: DType, dims: Dims = None):
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self.dims = dims
        self.varies = False
        self._consumers: list[Operation] = []

    @property
    def name(self) -> str:
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The shape as far as it is known while the graph is built."""
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        return TensorShape(self.dims)

    def set_shape(self, shape: Any) -> None:
        """Adds what is known of the shape. Raises ValueError when it contradicts what was known before."""
        shape = as_shape(shape)
        if not shape.is_compatible_with(self.dims):
            raise ValueError(f"Tensor {self.name} has shape {self.shape}, which is not compatible with {shape}.")
        self.dims = shapes.merge(self.dims, shape.raw)

    def consumers(self) -> list[Operation]:
        return list(self._consumers)

    @classmethod
    def _override_operator(cls, operator: str, function: Callable[..., Any]) -> None:
        cls.OVERLOADABLE_OPERATORS.add(operator)
        setattr(cls, operator, function)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"Tensor {self.name} cannot be iterated over while the graph is built: its values do not exist yet. "
            "Use tf.unstack where the size is known, tf.map_fn otherwise."
        )

    def __len__(self) -> int:
        raise TypeError(
            f"len() of tensor {self.name} is not defined; use tensor.shape[0].value or tf.shape(tensor)[0]."
        )

    def __bool__(self) -> bool:
        raise TypeError(
            f"Tensor {self.name} has no truth value while the graph is built. "
            "Use `if t is not None:` to ask whether it is there, tf.cond to run one branch or the other."
        )

    __nonzero__ = __bool__

    def __eq__(self, other: Any) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Tensor {self.name} cannot be made a numpy array while the graph is built; fetch it with Session.run."
        )

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """Its value, by the given or the default session."""
        return _session_for(session, self.graph, "eval()").run(self, feed_dict)

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


class Operation:
    """A node of the graph.

    Attributes:
      type, name, graph, inputs, control_inputs, outputs, device: as in the original.
      definition: the record of its type.
      attrs: its attributes, by name.
      index: its place in the graph's order of creation.
      block: the region it belongs to: the graph itself, or the body of a loop or branch.
      axis: the named axis it was made under (tower context), or None.
      line: the user's line that created it.
      effects: (cells read, cells written), those of its bodies included.
    """

    __slots__ = ("definition", "type", "name", "graph", "_inputs", "_control_inputs", "attrs", "outputs", "device",
                 "index", "block", "axis", "line", "reads", "writes", "counter", "_colocation", "__weakref__")  # fmt: skip

    definition: OpDef
    type: str
    name: str
    graph: Graph
    attrs: dict[str, Any]
    outputs: list[Tensor]
    device: str
    index: int
    block: Block
    axis: Axis | None
    line: UserLine
    reads: tuple[Cell, ...]
    writes: tuple[Cell, ...]
    counter: Cell | None
    _inputs: tuple[Tensor, ...]
    _control_inputs: list[Operation]
    _colocation: tuple[bytes, ...]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def control_inputs(self) -> list[Operation]:
        return list(self._control_inputs)

    @property
    def bodies(self) -> tuple[Block, ...]:
        return self.attrs.get("bodies", ())

    @property
    def arguments(self) -> dict[str, Any]:
        """The attributes that its kernel takes: not the hidden ones, nor those whose names start with "_"."""
        hidden = self.definition.hidden
        return {k: v for k, v in self.attrs.items() if k not in hidden and k[0] != "_"}

    @property
    def created_at(self) -> str:
        return str(self.line)

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        return [(self.line.filename, self.line.lineno, self.line.function, self.line.text)]

    @property
    def node_def(self) -> NodeDef:
        return NodeDef(self)

    @property
    def op_def(self) -> OpDef:
        return self.definition

    def values(self) -> tuple[Tensor, ...]:
        return tuple(self.outputs)

    def get_attr(self, name: str) -> Any:
        try:
            return self.attrs[name]
        except KeyError:
            known = ", ".join(sorted(self.attrs)) or "none"
            raise ValueError(f"Operation {self.name} has no attribute {name!r}; it has: {known}.") from None

    def colocation_groups(self) -> list[bytes]:
        return list(self._colocation) or [b"loc:@" + self.name.encode()]

    def add_control_inputs(self, ops: Iterable[Operation]) -> None:
        """Makes this operation run after ``ops``."""
        for op in ops:
            if not isinstance(op, Operation):
                raise TypeError(f"Expected an Operation as a control input of {self.name}, got {op!r}.")
            if op.graph is not self.graph:
                raise ValueError(f"Control input {op.name} of {self.name} belongs to another graph.")
            if op not in self._control_inputs:
                self._control_inputs.append(op)
        self.graph.rewired += 1

    _add_control_inputs = add_control_inputs

    def _add_control_input(self, op: Operation) -> None:
        self.add_control_inputs([op])

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> None:
        """Runs it, by the given or the default session."""
        _session_for(session, self.graph, "run()").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        ins = ", ".join(t.name for t in self._inputs)
        return f"{self.name} = {self.type}({ins})"


class NodeDef:
    """What the original's protocol buffer showed of an operation: ``name``, ``op``, ``input``, ``device``, ``attr``."""

    def __init__(self, op: Operation):
        self.name = op.name
        self.op = op.type
        self.device = op.device
        self.input = [t.name[:-2] if t.name.endswith(":0") else t.name for t in op.inputs]
        self.input += [f"^{c.name}" for c in op.control_inputs]
        self.attr = {k: v for k, v in op.attrs.items() if k not in op.definition.hidden}

    def __repr__(self) -> str:
        return f"name: {self.name!r}\nop: {self.op!r}\ninput: {self.input!r}\n"


class Block:
    """A region of a graph: the graph itself (no parent), or the body of a loop or of one branch."""

    def __init__(self, graph: Graph, parent: Block | None, what: str):
        self.graph = graph
        self.parent = parent
        self.what = what
        self.ops: list[Operation] = []
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.axis: Axis | None = None
        self.line = user_line()
        self.predicate: Tensor | None = None
        """What decides whether the region runs (a branch) or runs again (a loop's body)."""
        self.results: tuple[Any, ...] = ()
        self.needed: list[Operation] = self.ops

    def finish(self, results: Sequence[Any]) -> None:
        """Declares what the region is run for (tensors and operations); only what these need is run."""
        self.results = tuple(results)
        ops = [r.op if isinstance(r, Tensor) else r for r in self.results]
        self.needed = execution_order(ops, self)

    def encloses(self, other: Block) -> bool:
        """Whether ``other`` is this region or lies inside it."""
        block: Block | None = other
        while block is not None and block.depth > self.depth:
            block = block.parent
        return block is self

    def captures(self) -> list[Tensor]:
        """Tensors made outside and used inside, in order of first use."""
        found: dict[Tensor, None] = {}
        for tensor in (*(t for op in self.needed for t in op.inputs), *self.results):
            if isinstance(tensor, Tensor) and not self.encloses(tensor.op.block):
                found[tensor] = None
        return list(found)

    def outer_dependencies(self, fed: Container[Tensor] = ()) -> list[Operation]:
        """Operations outside that something inside needs or must follow."""
        found: dict[Operation, None] = {}
        for op in self.needed:
            for other in dependencies(op, fed):
                if not self.encloses(other.block):
                    found[other] = None
        return list(found)


class Graph:
    """A program: operations in order of creation.

    >>> graph = Graph()
    >>> with graph.as_default(): pass
    """

    def __init__(self) -> None:
        self._ops: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._names: dict[str, int] = {}
        self._collections: dict[Any, list[Any]] = {}
        self._finalized = False
        self._seed: int | None = None
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._lock = threading.RLock()
        self.root = Block(self, None, "graph")
        self.block = self.root
        self.axis: Axis | None = None
        self.version = 0
        self.rewired = 0
        """How often dependencies were added to operations that were there already."""
        self.scope_name = ""
        self.control_stack: list[tuple[Block, tuple[Operation, ...]] | None] = []
        self.device_stack: list[Any] = []
        self.colocation_stack: list[Operation] = []
        self.gradient_overrides: dict[str, str] = {}
        self.creators: list[Callable[..., Any]] = []
        self.variable_maker: Callable[..., Any] | None = None
        """Makes the variable at the end of the creators' chain, where a strategy wants a class of its own."""
        self.last_loss_reduction: str | None = None
        """How the last loss was reduced over its batch; strategies scale by it."""
        self.variable_state: Any = None
        """Where the variable scopes of this graph live (owned by the variable scope module)."""

    # ---- names -----------------------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """``name`` below the current scope, with ``_1``, ``_2``, ... where it is taken (case does not count)."""
        if self.scope_name:
            name = f"{self.scope_name}/{name}"
        key = name.lower()
        used = self._names.get(key, 0)
        if mark_as_used:
            self._names[key] = used + 1
        if used:
            base = key
            while key in self._names:
                key = f"{base}_{used}"
                used += 1
            if mark_as_used:
                self._names[key] = 1
            name = f"{name}_{used - 1}"
        return name

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of operations made inside; yields the scope's name with a slash at its end.

        A name that ends in a slash re-enters that scope; None or "" is the top level.
        """
        if name:
            if self.scope_name:
                if not _SCOPE_NAME.match(name):
                    raise ValueError(f"'{name}' is not a valid scope name")
            elif not _OP_NAME.match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        old = self.scope_name
        if not name:
            new = ""
        elif name[-1] == "/":
            new = name[:-1]
        else:
            new = self.unique_name(name)
        self.scope_name = new
        try:
            yield f"{new}/" if new else ""
        finally:
            self.scope_name = old

    def get_name_scope(self) -> str:
        return self.scope_name

    # ---- building --------------------------------------------------------------------------------------------

    def add(
        self,
        type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Mapping[str, Any] | None = None,
        name: str | None = None,
        *,
        block: Block | None = None,
        axis: Axis | None = None,
        control_inputs: Iterable[Operation] = (),
    ) -> Operation:
        """Adds an operation and infers its outputs.

        Raises:
          RuntimeError: the graph is finalized.
          TypeError, ValueError: the inputs do not fit the type; the message names the user's line.
        """
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        definition = registry.lookup(type)
        op = Operation.__new__(Operation)
        op.definition = definition
        op.type = type
        op.graph = self
        op._inputs = tuple(inputs)
        op.attrs = dict(attrs) if attrs else {}
        if type in self.gradient_overrides:
            op.attrs["_gradient_op_type"] = self.gradient_overrides[type]
        op.line = user_line()
        op.block = self.block if block is None else block
        op.axis = axis or self.axis
        self._check_inputs(op)
        try:
            signatures = definition.rule(op._inputs, op.attrs)
        except (TypeError, ValueError) as error:
            described = ", ".join(f"{t.dtype.name}{t.shape}" for t in op._inputs)
            message = f"{error}\n  operation: {name or type} (type {type}) on ({described})\n  created at: {op.line}"
            raise (TypeError if isinstance(error, TypeError) else ValueError)(message) from error
        if name and name[-1] == "/":
            op.name = name[:-1]
            self._names.setdefault(op.name.lower(), 1)
        else:
            if name and not _OP_NAME.match(name) and not (self.scope_name and _SCOPE_NAME.match(name)):
                raise ValueError(f"'{name}' is not a valid node name")
            op.name = self.unique_name(name or type)
        op.outputs = [Tensor(op, i, s.dtype, s.dims) for i, s in enumerate(signatures)]
        op.device = ""
        op._colocation = ()
        op.counter = Cell(f"{op.name}/counter", uint32, (), default=_ZERO) if definition.random else None
        self._place(op)
        self._bind_effects(op)
        op._control_inputs = self._current_controls(op)
        for other in control_inputs:
            if other not in op._control_inputs:
                op._control_inputs.append(other)
        for tensor in op._inputs:
            tensor._consumers.append(op)
        mark_varying(op)
        op.index = len(self._ops)
        self._ops.append(op)
        op.block.ops.append(op)
        self._by_name[op.name] = op
        self.version += 1
        return op

    def _check_inputs(self, op: Operation) -> None:
        for tensor in op._inputs:
            maker = tensor.op
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

    def _place(self, op: Operation) -> None:
        if self.device_stack:
            for function in self.device_stack:
                op.device = merge_device(op.device, function(op) if callable(function) else function)
        if self.colocation_stack:
            first = self.colocation_stack[-1]
            op.device = first.device or op.device
            op._colocation = tuple(b"loc:@" + o.name.encode() for o in self.colocation_stack)

    def _bind_effects(self, op: Operation) -> None:
        definition = op.definition
        op.reads = op.writes = ()
        if definition.reads or definition.writes:
            cells = tuple(t.op.attrs["cell"] for t in op._inputs if t.dtype is resource)
            op.reads = cells if definition.reads else ()
            op.writes = cells if definition.writes else ()
        if op.counter is not None:
            op.reads += (op.counter,)
            op.writes += (op.counter,)
        flag = op.attrs.get("flag")
        if flag is not None:
            op.reads += (flag,)
            op.writes += (flag,)
        for body in op.bodies:
            for inner in body.needed:
                op.reads += tuple(c for c in inner.reads if c not in op.reads)
                op.writes += tuple(c for c in inner.writes if c not in op.writes)

    def _current_controls(self, op: Operation) -> list[Operation]:
        controls: list[Operation] = []
        for entry in reversed(self.control_stack):
            if entry is None:
                break
            block, ops = entry
            if block.encloses(op.block):
                controls += [o for o in ops if o not in controls and o is not op]
        return controls

    @contextmanager
    def body(self, what: str) -> Iterator[Block]:
        """Operations made inside belong to a new region below the current one."""
        outer = self.block
        self.block = Block(self, outer, what)
        self.block.axis = self.axis
        try:
            yield self.block
        finally:
            self.block = outer

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Operations made inside belong to no loop, branch or tower and follow nothing."""
        saved = (self.block, self.axis, self.control_stack)
        self.block, self.axis, self.control_stack = self.root, None, []
        try:
            yield
        finally:
            self.block, self.axis, self.control_stack = saved

    @contextmanager
    def under(self, axis: Axis | None) -> Iterator[None]:
        """Operations made inside run at every position of ``axis``."""
        saved = self.axis
        self.axis = axis
        try:
            yield
        finally:
            self.axis = saved

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Operations made inside run after ``control_inputs``; None forgets those of the scopes around."""
        if control_inputs is None:
            self.control_stack.append(None)
        else:
            ops = []
            for item in control_inputs:
                element = self.as_graph_element(item)
                op = element.op if isinstance(element, Tensor) else element
                if op not in ops:
                    ops.append(op)
            self.control_stack.append((self.block, tuple(ops)))
        stack = self.control_stack
        try:
            yield
        finally:
            stack.pop()

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Records where operations made inside were meant to run."""
        self.device_stack.append(device_name_or_function)
        try:
            yield
        finally:
            self.device_stack.pop()

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        saved = self.colocation_stack
        element = None if op is None else self.as_graph_element(op)
        base = [] if ignore_existing or element is None else list(saved)
        if element is not None:
            base.append(element.op if isinstance(element, Tensor) else element)
        self.colocation_stack = base
        try:
            yield
        finally:
            self.colocation_stack = saved

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        saved = self.gradient_overrides
        self.gradient_overrides = {**saved, **op_type_map}
        try:
            yield
        finally:
            self.gradient_overrides = saved

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        yield container_name

    # ---- finding ---------------------------------------------------------------------------------------------

    def get_operations(self) -> list[Operation]:
        return list(self._ops)

    def get_operation_by_name(self, name: str) -> Operation:
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings, got {name!r}.")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> Tensor:
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings, got {name!r}.")
        return self.as_graph_element(name, allow_operation=False)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation of this graph that ``obj`` is or names.

        Raises:
          KeyError: no such name. ValueError: it belongs to another graph. TypeError: it is no graph element.
        """
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation)
        if isinstance(obj, Tensor) and allow_tensor or isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"{obj} is not an element of this graph.")
            return obj
        wanted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        raise TypeError(f"Expected a {wanted} or its name, got {type(obj).__name__}: {obj!r}.")

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        if ":" in name and allow_tensor:
            op_name, _, index = name.rpartition(":")
            if not index.isdigit():
                raise ValueError(f"{name!r} is not a tensor's name: expected '<operation>:<output index>'.")
            op = self._by_name.get(op_name)
            if op is None or int(index) >= len(op.outputs):
                there = f"the operation has {len(op.outputs)} outputs" if op else "there is no such operation"
                raise KeyError(f"The name '{name}' refers to a tensor that is not in the graph: {there}.")
            return op.outputs[int(index)]
        if ":" in name:
            raise ValueError(f"'{name}' looks like a tensor's name, an operation was expected.")
        if not allow_operation:
            raise ValueError(f"'{name}' names an operation, a tensor was expected: append ':0' for its first output.")
        if name not in self._by_name:
            raise KeyError(f"The name '{name}' refers to an operation that is not in the graph.")
        return self._by_name[name]

    # ---- collections -----------------------------------------------------------------------------------------

    def add_to_collection(self, name: Any, value: Any) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        for name in (names,) if isinstance(names, str) else set(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[Any]:
        return [k for k, v in self._collections.items() if v]

    def clear_collection(self, name: Any) -> None:
        self._collections.pop(name, None)

    @property
    def collections(self) -> list[Any]:
        return list(self._collections)

    # ---- the whole -------------------------------------------------------------------------------------------

    def as_default(self) -> Any:
        """A context manager inside which this is the graph that is built."""
        return _GRAPHS.entered(self)

    def finalize(self) -> None:
        self._finalized = True

    @property
    def finalized(self) -> bool:
        return self._finalized

    @property
    def seed(self) -> int | None:
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self._seed = value

    @property
    def building_function(self) -> bool:
        return False

    def prevent_feeding(self, tensor: Tensor) -> None:
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Any) -> None:
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable


def dependencies(op: Operation, fed: Container[Tensor] = ()) -> Iterator[Operation]:
    """What has to run before an operation, if it is to run: makers of unfed inputs, control inputs, and more.

    A gradient needs the operations on its paths, a loop or branch what its bodies use from outside.
    """
    for tensor in op._inputs:
        if tensor not in fed:
            yield tensor.op
    yield from op._control_inputs
    yield from op.attrs.get("path", ())
    for body in op.bodies:
        yield from body.outer_dependencies(fed)


def execution_order(targets: Iterable[Operation], block: Block, fed: Container[Tensor] = ()) -> list[Operation]:
    """The operations of ``block`` that ``targets`` need, each after what it depends on, else in order of creation.

    Raises:
      ValueError: the dependencies form a cycle; names operations on it.
    """
    needed: dict[Operation, list[Operation]] = {}
    followers: dict[Operation, list[Operation]] = {}
    stack = [op for op in targets if op.block is block]
    while stack:
        op = stack.pop()
        if op in needed:
            continue
        before = list(dict.fromkeys(d for d in dependencies(op, fed) if d.block is block))
        needed[op] = before
        for other in before:
            followers.setdefault(other, []).append(op)
        stack += before
    waiting = {op: len(before) for op, before in needed.items()}
    ready = [(op.index, op) for op, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[Operation] = []
    while ready:
        _, op = heapq.heappop(ready)
        order.append(op)
        for follower in followers.get(op, ()):
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, (follower.index, follower))
    if len(order) != len(needed):
        stuck = sorted((op for op, count in waiting.items() if count > 0), key=lambda op: op.index)[:5]
        names = ", ".join(f"{op.name} (created at {op.line})" for op in stuck)
        raise ValueError(f"The graph's dependencies form a cycle through: {names}.")
    return order


def mark_varying(op: Operation) -> None:
    """Decides which outputs of an operation may differ along the axis."""
    definition = op.definition
    if definition.collective:
        return
    marked = op.attrs.get("varying_outputs") if definition.varying is None else definition.varying(op)
    if marked is not None:
        for tensor, varying in zip(op.outputs, marked, strict=True):
            tensor.varies = varying
        return
    mapped = op.axis is not None and op.axis.size > 1
    varying = mapped and (definition.per_position or definition.random)
    if definition.reads or definition.writes:
        varying = mapped and op._inputs[0].op.attrs["cell"].per_position
    if not varying and not definition.writes:
        for tensor in op._inputs:
            if tensor.varies:
                varying = True
                break
    if varying:
        for tensor in op.outputs:
            tensor.varies = tensor.dtype is not resource


class Stack(threading.local):
    """What is current in a thread: graphs, sessions, strategies' contexts."""

    def __init__(self, make_default: Callable[[], Any] | None = None) -> None:
        self.entries: list[Any] = []
        self.make_default = make_default
        self.default: Any = None

    @contextmanager
    def entered(self, value: Any) -> Iterator[Any]:
        self.entries.append(value)
        try:
            yield value
        finally:
            self.entries.pop()

    def current(self) -> Any:
        if self.entries:
            return self.entries[-1]
        if self.default is None and self.make_default is not None:
            self.default = self.make_default()
        return self.default


_ZERO = np.zeros((), np.uint32)
_GRAPHS = Stack(Graph)
SESSIONS = Stack()


def get_default_graph() -> Graph:
    """The graph that operations are added to."""
    return _GRAPHS.current()


def reset_default_graph() -> None:
    """Starts a new global default graph. Raises AssertionError inside ``with graph.as_default():``."""
    if _GRAPHS.entries:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _GRAPHS.default = None


def get_default_session() -> Any:
    return SESSIONS.current()


def _session_for(session: Any, graph: Graph, what: str) -> Any:
    session = session or get_default_session()
    if session is None:
        raise ValueError(f"{what} needs a session: pass session= or use it inside `with sess.as_default():`.")
    if session.graph is not graph:
        raise ValueError(f"{what}: the session's graph is not the graph this belongs to.")
    return session
