"""``Tensor``, ``Operation`` and ``Block``: the edges, nodes and regions of a graph, and its order of execution.

An ``Operation`` has a type (``OpDef``), inputs, attributes and outputs, as a ``NodeDef`` has, and three things that the
engine needs: its region (``block``: the graph, or the body of a loop, branch or map), the mesh axis that it was made
under (``axis``: tower context), and the state that it reads and writes. A region's operations may use tensors of
enclosing regions: captures, which need no placeholders.

TensorFlow leaves the order of independent operations to its scheduler. Here it is always the topological order with
ties in order of creation (``execution_order``), so that results are deterministic:

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     a, b, unused = tf.constant(1.0, name="a"), tf.constant(2.0, name="b"), tf.constant(3.0)
...     with tf.control_dependencies([b]):
...         y = tf.negative(a, name="y")
>>> [op.name for op in execution_order([y.op], graph.root)]
['a', 'b', 'y']

``mark_varying`` infers for each tensor whether it varies along the axis, as JAX's types do under ``shard_map``: that
decides how it is fetched, stored and differentiated. A write of a varying value turns a replicated variable into one
with a value per tower (``make_varying``), which marks the whole graph again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from towerstrat.errors import OperatorNotAllowedInGraphError
from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.argument_types import ShapeLike
from towerstrat.graph.ir.context_stacks import SessionLike, get_default_session
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.node_def import attribute
from towerstrat.graph.ir.node_writer import node_def
from towerstrat.graph.ir.op_registry import OpDef
from towerstrat.graph.ir.python_operators import OVERLOADABLE, Operators, differs, equals
from towerstrat.graph.ir.shapes import Dims, TensorShape, as_shape
from towerstrat.graph.ir.state import StateVariable, layouts
from towerstrat.graph.ir.types import DType, resource, string
from towerstrat.graph.ir.user_lines import UserLine, unconverted, user_line
from towerstrat.platform import messages

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph import Graph


class Reference:
    """A hashable wrapper of a tensor or variable; two are equal where they wrap the same object."""

    __slots__ = ("_referent",)

    def __init__(self, referent: object):
        self._referent = referent

    def deref(self) -> Any:
        """The tensor or variable."""
        return self._referent

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._referent is other._referent

    def __hash__(self) -> int:
        return id(self._referent)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._referent!r}>"


class Tensor(Operators):
    """One output of an operation: a symbolic value that a run computes.

    Attributes:
      op: the operation that computes it.
      value_index: its index among the operation's outputs.
      dtype: element type.
      dims: static shape: None for an unknown rank, a None entry for an unknown size.
      varies: True where it may differ along the named axis that it was made under (see ``mark_varying``).
      assign: only on a slice of a variable: stores a value in that part of it.
    """

    __slots__ = ("__dict__", "__weakref__", "_consumers", "assign", "dims", "dtype", "op", "value_index", "varies")

    OVERLOADABLE_OPERATORS = OVERLOADABLE
    assign: Callable[..., Any]

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
    def _graph(self) -> Graph:
        """The graph it belongs to; of an eager tensor, which has no ``graph``, the eager context."""
        return self.op.graph

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        return TensorShape(self.dims)

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges ``shape`` into the static shape. Raises ValueError where the two contradict each other."""
        shape = as_shape(shape)
        if not shape.is_compatible_with(self.dims):
            raise ValueError(f"Tensor {self.name} has shape {self.shape}, which is not compatible with {shape}.")
        self.dims = shapes.merge(self.dims, shape.raw)

    def consumers(self) -> list[Operation]:
        return list(self._consumers)

    def ref(self) -> Reference:
        """A key for dictionaries and sets that compares by identity, whatever ``==`` means."""
        return Reference(self)

    experimental_ref = ref

    @property
    def ndim(self) -> int:
        """The rank. Raises ValueError where it is not known."""
        if self.dims is None:
            raise ValueError(f"The rank of {self!r} is not known.")
        return len(self.dims)

    def _overloaded(self) -> Tensor:
        return self

    @classmethod
    def _override_operator(cls, operator: str, function: Callable[..., Any]) -> None:
        """Replaces one of Python's operators on all tensors."""
        setattr(cls, operator, function)

    def __iter__(self) -> Iterator[Any]:
        raise OperatorNotAllowedInGraphError(
            f"Tensor {self.name} cannot be iterated over while the graph is built: its values do not exist yet. "
            f"Use tf.unstack where the size is known, tf.map_fn otherwise.{unconverted()}"
        )

    def __len__(self) -> int:
        raise TypeError(
            f"len() of tensor {self.name} is not defined; use tensor.shape[0].value or tf.shape(tensor)[0]."
            f"{unconverted()}"
        )

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError(
            f"Tensor {self.name} has no truth value while the graph is built. "
            "Use `if t is not None:` to ask whether it is there, tf.cond to run one branch or the other."
            f"{unconverted()}"
        )

    __nonzero__ = __bool__

    __eq__ = equals
    __ne__ = differs
    __hash__ = object.__hash__

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"Tensor {self.name} cannot be made a numpy array: {self._to_get_values()}")

    @property
    def numpy(self) -> Any:
        """Eager tensors have it. Raises AttributeError."""
        raise AttributeError(f"Tensor {self.name} has no attribute 'numpy': {self._to_get_values()}")

    def _to_get_values(self) -> str:
        if not self.graph.building_function:
            return "its values do not exist while the graph is built; fetch it with Session.run."
        return (
            f"its values do not exist while {self.graph.what} is traced (it was created at {self.op.line}). Use "
            "functions of tf instead of numpy's, tf.print to see it, tf.py_function or tf.numpy_function to call "
            "Python with it, or return it."
        )

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None) -> Any:
        """The value, computed by ``session`` or the default session.

        Raises:
          ValueError: there is no session, or it is one of another graph.
        """
        return _session_for(session, self.graph, "eval()").run(self, feed_dict)

    def __str__(self) -> str:
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def place_of(tensor: Tensor, tensors: Iterable[Tensor]) -> int | None:
    """The index of a tensor among others, or None; compares by identity, since ``==`` may compare the values."""
    return next((i for i, other in enumerate(tensors) if other is tensor), None)


class Operation:
    """A node of the graph. ``Graph.add`` makes it.

    Attributes:
      type, name, graph, inputs, control_inputs, outputs, device: as in TensorFlow.
      definition: the ``OpDef`` of its type.
      attrs: its attributes, by name.
      index: its place in the graph's order of creation.
      block: its region: the graph itself, or the body of a loop or branch.
      axis: the named axis it was made under (tower context), or None.
      line: the user's line that created it.
      reads, writes: the state variables it reads and writes, those of its bodies included.
      counter: the state variable that counts its executions, if it draws random numbers.
      checks: whether it, or an operation in its bodies, checks the values of its inputs.
      axis_indices: those that run it; None: all.
    """

    axis_indices: frozenset[int] | None = None

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_colocation",
        "_control_inputs",
        "_inputs",
        "_outputs",
        "attrs",
        "axis",
        "block",
        "checks",
        "counter",
        "definition",
        "device",
        "graph",
        "index",
        "line",
        "name",
        "reads",
        "type",
        "writes",
    )  # fmt: skip

    definition: OpDef
    type: str
    name: str
    graph: Graph
    attrs: dict[str, Any]
    device: str
    index: int
    block: Block
    axis: Axis | None
    line: UserLine
    reads: tuple[StateVariable, ...]
    writes: tuple[StateVariable, ...]
    counter: StateVariable | None
    checks: bool
    _inputs: tuple[Tensor, ...]
    _outputs: Sequence[Tensor]
    _control_inputs: list[Operation]
    _colocation: tuple[bytes, ...]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The outputs, in a list of the caller's own: functions hand it to programs, which change it."""
        return list(self._outputs)

    @property
    def control_inputs(self) -> list[Operation]:
        return list(self._control_inputs)

    @property
    def bodies(self) -> tuple[Block, ...]:
        """The regions that it runs: of a loop or branch, or the gradient functions of a gradient operation."""
        bodies: tuple[Block, ...] = self.attrs.get("bodies", ())
        return bodies

    @property
    def arguments(self) -> dict[str, Any]:
        """The attributes that its kernel takes: all but the hidden ones and those whose names start with "_"."""
        hidden = self.definition.hidden
        return {k: v for k, v in self.attrs.items() if k not in hidden and k[0] != "_"}

    @property
    def created_at(self) -> str:
        return str(self.line)

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        return [(self.line.filename, self.line.lineno, self.line.function, self.line.text)]

    @property
    def node_def(self) -> messages.NodeDef:
        """The operation as a message, with the original's names of attributes."""
        return node_def(self)

    @property
    def op_def(self) -> OpDef:
        return self.definition

    def values(self) -> tuple[Tensor, ...]:
        return tuple(self._outputs)

    def get_attr(self, name: str) -> Any:
        """An attribute by the original's name: ``"N"``, ``"T"``, ``"dtype"``, ``"transpose_a"``, ...

        Returns:
          A number, bool, bytes, ``DType``, ``TensorShapeProto``, ``TensorProto``, or a list of such.

        Raises:
          ValueError: there is none of that name.
        """
        return attribute(self, name)

    def colocation_groups(self) -> list[bytes]:
        return list(self._colocation) or [b"loc:@" + self.name.encode()]

    def add_control_inputs(self, ops: Iterable[Operation]) -> None:
        """Make this operation run after ``ops``.

        Raises:
          TypeError: one of them is no operation.
          ValueError: one belongs to another graph, or to a finished region that does not run it.
        """
        for op in ops:
            if not isinstance(op, Operation):
                raise TypeError(f"Expected an Operation as a control input of {self.name}, got {op!r}.")
            if op.graph is not self.graph:
                raise ValueError(f"Control input {op.name} of {self.name} belongs to another graph.")
            if self.block.leaves_out(op) and not self.block.leaves_out(self):
                raise ValueError(
                    f"{op.name} (created at {op.line}) cannot become a control input of {self.name}: "
                    f"{self.block.what} was built without it. Use tf.control_dependencies inside."
                )
            if op not in self._control_inputs:
                self._control_inputs.append(op)
        self.graph.nodes.rewired += 1

    _add_control_inputs = add_control_inputs

    @property
    def _control_outputs(self) -> list[Operation]:
        """The operations of its region that have it as a control input."""
        return [op for op in self.block.ops if self in op._control_inputs]

    def _add_control_input(self, op: Operation) -> None:
        self.add_control_inputs([op])

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None) -> None:
        """Runs the operation in ``session`` or the default session. Raises ValueError as ``Tensor.eval`` does."""
        _session_for(session, self.graph, "run()").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self) -> str:
        ins = ", ".join(t.name for t in self._inputs)
        return f"{self.name} = {self.type}({ins})"


class Block:
    """A region of a graph: the graph itself (no parent), or the body of a loop or of one branch.

    Operations use tensors of their own and of enclosing regions; the latter are captures.

    Args:
      graph: the graph.
      parent: the enclosing region.
      what: its description in messages, such as "the body of the loop while".
    """

    def __init__(self, graph: Graph, parent: Block | None, description: str):
        self.graph = graph
        self.parent = parent
        self.what = description
        self.region = self
        """The region of the graph; another one where this is that region for some of its results only."""
        self.ops: list[Operation] = []
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.axis: Axis | None = None
        self.line = user_line()
        self.predicate: Tensor | None = None
        """The condition under which the region runs (a branch) or runs again (a loop's body)."""
        self.in_steps: bool = parent is not None and parent.in_steps
        """Whether the region, or one around it, is the step function of a step loop."""
        self.results: tuple[Any, ...] = ()
        """The region's results: tensors of a loop's body or a branch; of a step also operations to run."""
        self.effects: tuple[Operation, ...] = ()
        """Operations that run although no result needs them."""
        self.needed: list[Operation] = self.ops
        """The operations that run, in order of execution."""
        self.finished = False

    def finish(self, results: Sequence[Tensor | Operation], effects: Sequence[Operation] | None = None) -> None:
        """End building: from now on the region runs what its results and effects need, and nothing else.

        Args:
          results: tensors and operations.
          effects: operations of the region. By default those with an effect where the graph keeps effects (in
            functions), else none. A copy of a region in another graph has the effects of the original.
        """
        own_tensor, own_operation = self.graph.own, self.graph.own_operation
        self.results = tuple(own_tensor(r) if isinstance(r, Tensor) else own_operation(r) for r in results)
        if effects is None:
            effects = [op for op in self.ops if has_effect(op)] if self.graph.keeps_effects else []
        self.effects = tuple(effects)
        self.needed = execution_order([*(r.op if isinstance(r, Tensor) else r for r in self.results), *effects], self)
        self.finished = True

    def release(self) -> None:
        """Move operations that this region does not run, and that use nothing of it but constants, to its parent.

        So a value of variables alone can be fetched although it was made here.
        """
        assert self.parent is not None
        needed = set(self.needed)
        released: list[Operation] = []
        for op in self.ops:
            if op in needed or not _movable(op):
                continue
            inner = [d for d in dependencies(op) if self.encloses(d.block)]
            if all(d.type == "Const" for d in inner):
                for moved in (*inner, op):
                    moved.block = self.parent
                    released.append(moved)
        self.parent.ops += released
        self.ops = [op for op in self.ops if op.block is self]
        self.needed = [op for op in self.needed if op.block is self]

    def leaves_out(self, op: Operation) -> bool:
        """Whether ``op`` belongs to this region, which is finished without it."""
        return self.finished and op.block is self and op not in self.needed

    def encloses(self, other: Block) -> bool:
        """Whether ``other`` is this region or lies inside it."""
        block: Block | None = other
        while block is not None and block.depth > self.depth:
            block = block.parent
        return block is not None and block.region is self.region

    def captures(self) -> list[Tensor]:
        """The tensors from enclosing regions that this one uses, in order of first use."""
        captured: dict[Tensor, None] = {}
        for tensor in (*(t for op in self.needed for t in op.inputs), *self.results):
            if isinstance(tensor, Tensor) and not self.encloses(tensor.op.block):
                captured[tensor] = None
        return list(captured)

    def outer_dependencies(self, fed: Container[Tensor] = ()) -> list[Operation]:
        """The operations outside that operations inside depend on."""
        outer: dict[Operation, None] = {}
        for op in self.needed:
            for other in dependencies(op, fed):
                if not self.encloses(other.block):
                    outer[other] = None
        return list(outer)


def has_effect(op: Operation) -> bool:
    """Whether running the operation has a side effect; advancing a random counter is none."""
    if op.definition.stateful:
        return True
    return any(has_effect(inner) for body in op.bodies if op.type != "Gradients" for inner in body.needed)


def _movable(op: Operation) -> bool:
    """Whether an operation gives the same value anywhere among the reads and writes of a region and its parent."""
    special = op.bodies or op.definition.random or op.definition.host is not None or "path" in op.attrs
    return not special and not has_effect(op) and op.type != "StepInput"


def of_strings(op: Operation) -> bool:
    """Whether an input or output is a string."""
    return any(t.dtype is string for t in (*op.inputs, *op.outputs))


def runs_in_numpy(op: Operation) -> bool:
    """Whether numpy has to compute the operation: it works on strings, or its type has no kernel."""
    definition = op.definition
    if definition.numpy is None or definition.constant or definition.is_placeholder:
        return False
    return (definition.kernel is None and definition.lower is None) or of_strings(op)


def dependencies(op: Operation, fed: Container[Tensor] = ()) -> Iterator[Operation]:
    """The operations that have to run before ``op``: those of its unfed inputs, and its unfed control inputs.

    A gradient also depends on the operations on its paths, a loop or branch on the captures of its bodies.
    """
    for tensor in op._inputs:
        if tensor not in fed:
            yield tensor.op
    # A fed placeholder has no value of its own to wait for; another operation runs although its output is fed.
    for before in op._control_inputs:
        if not before.definition.is_placeholder or any(t not in fed for t in before.outputs):
            yield before
    yield from op.attrs.get("path", ())
    for body in op.bodies:
        yield from body.outer_dependencies(fed)


def execution_order(
    targets: Iterable[Operation],
    block: Block,
    fed: Container[Tensor] = (),
    instead: Mapping[Operation, Operation] | None = None,
) -> list[Operation]:
    """The operations of ``block`` that ``targets`` need in topological order; ties in order of creation.

    TensorFlow leaves the order of independent operations to its scheduler; here it is always this one, so that results
    are deterministic.

    Args:
      targets: the operations wanted; those of other regions are left out.
      block: a region; the operations of regions inside it run with the loop or branch that has these.
      fed: tensors whose operations need not run.
      instead: operations of the block, each with one that equals it and runs in its place.

    Raises:
      ValueError: the dependencies form a cycle; names operations on it.
    """
    instead = instead or {}
    needed: dict[Operation, list[Operation]] = {}
    followers: dict[Operation, list[Operation]] = {}
    stack = [instead.get(op, op) for op in targets if op.block is block.region]
    while stack:
        op = stack.pop()
        if op in needed:
            continue
        before = list(dict.fromkeys(instead.get(d, d) for d in dependencies(op, fed) if d.block is block.region))
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
    """Set ``Tensor.varies`` on the outputs of an operation: variance along the axis, as in ``jax.shard_map``.

    By default an output varies where an input does. A collective's never does, unless its type is ``always_varies``; a
    write's, and a read's of inputs that do not vary, as its state variable; in tower context those of random and
    ``always_varies`` types always do.
    """
    definition = op.definition
    if definition.collective and not definition.always_varies:
        return
    marked = op.attrs.get("varying_outputs") if definition.varying is None else definition.varying(op)
    if marked is not None:
        for tensor, varying in zip(op.outputs, marked, strict=True):
            tensor.varies = varying
        return
    # One write of a varying value is enough: all variables that the operation writes then have a value per shard. The
    # host writes whole values.
    if (
        definition.writes
        and definition.host is None
        and (any(t.varies for t in op._inputs) or any(cell.is_varying for cell in op.writes))
    ):
        for cell in op.writes:
            make_varying(cell, op.graph)
    # In cross-tower context (no axis) a varying variable is read as one combined value, which does not vary.
    mapped = op.axis is not None and op.axis.size > 1
    varying = mapped and (definition.always_varies or definition.random)
    if definition.reads or definition.writes:
        varying = mapped and op._inputs[0].op.attrs["cell"].is_varying
    if not varying and not definition.writes:
        for tensor in op._inputs:
            if tensor.varies:
                varying = True
                break
    if varying:
        for tensor in op.outputs:
            # A handle stands for the whole variable on every shard.
            tensor.varies = tensor.dtype is not resource


def allow_varying_writes(op: Operation) -> None:
    """Let the shards of an operation's axis write values of their own to the variables behind its handles."""
    assert op.axis is not None
    for tensor in op._inputs:
        if tensor.dtype is resource and op.axis.size > 1:
            cell: StateVariable = tensor.op.attrs["cell"]
            if not cell.may_differ:
                cell.own = op.axis


def make_varying(cell: StateVariable, graph: Graph) -> None:
    """Turn a replicated state variable with ``own`` into a varying one, with a value per shard; else a no-op."""
    if cell.is_varying or cell.own is None:
        return
    cell.axis, cell.combine = cell.own, "first"
    layouts.changed()
    # Earlier reads of it vary from now on, and so does all that depends on them: in functions and around them.
    around: Any = graph
    while around is not None and not around.executing_eagerly:
        for op in around.get_operations():
            mark_varying(op)
        around = getattr(around, "outer", None)


def _session_for(session: SessionLike | None, graph: Graph, caller: str) -> SessionLike:
    """``session`` or the default session. Raises ValueError where there is none or its graph is another."""
    session = session or get_default_session()
    if session is None:
        raise ValueError(f"{caller} needs a session: pass session= or use it inside `with sess.as_default():`.")
    if session.graph is not graph:
        raise ValueError(f"{caller}: the session's graph is not the graph this belongs to.")
    return session


def with_bodies(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Operations, each followed by those in its bodies."""
    for op in operations:
        yield op
        for body in op.bodies:
            yield from with_bodies(body.needed)


def loops_in(op: Operation) -> list[Operation]:
    """The loops among an operation and those in its bodies."""
    inside = [loop for body in op.bodies for inner in body.needed for loop in loops_in(inner)]
    return [op, *inside] if op.type == "While" else inside
