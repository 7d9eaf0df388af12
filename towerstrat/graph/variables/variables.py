"""``tf.Variable`` of 1.x and 2.x: a handle in the graph on a state variable in a session's state.

Making one adds four operations: handle (``resource``), initial value, initializer, and a read under its name; the value
itself is in the session's ``StateStore``, under the key ``cell``. All variables behave like TensorFlow's resource
variables: each use adds a read at its own point of the program, and assignments are operations.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default() as graph:
...     w = tf.Variable(1.0, name="w")
...     y = w * 2.0
>>> [op.name for op in graph.get_operations()][:4]
['w/initial_value', 'w', 'w/Assign', 'w/read']
>>> y.op.inputs[0].op.type
'ReadVariableOp'

Source: ``tensorflow/python/ops/resource_variable_ops.py`` and ``variables.py``.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from towerstrat.graph.ir import op_registry, shapes
from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.composite_values import Convertible
from towerstrat.graph.ir.context_stacks import TRACE_CONTEXTS, SessionLike, get_default_session
from towerstrat.graph.ir.default_graph import init_scope
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Reference, Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ir.numerics_version import ORIGINAL
from towerstrat.graph.ir.python_operators import Operators, differs, equals
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, DTypeLike, HostArray
from towerstrat.graph.ir.user_lines import unconverted
from towerstrat.graph.variables import static_shapes
from towerstrat.graph.variables.initialization_order import guard
from towerstrat.graph.variables.scatter_methods import ScatterMethods
from towerstrat.graph.variables.state_ops import variable_handle
from towerstrat.graph.variables.string_variables import type_for
from towerstrat.graph.variables.trackable import TrackableVariable


class VariableSynchronization(enum.Enum):
    """The time at which the copies of a distributed variable are made equal."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """The reduction of values from several towers to one."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_TOWER = 3
    ONLY_FIRST_REPLICA = 3


class GraphKeys:
    """The standard names of collections."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


class _ThroughCreators(type):
    """Sends ``Variable(...)`` through the creators in scope; derived classes are constructed directly."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        named = _by_name(args, kwargs)
        trainable_value(named.get("synchronization", VariableSynchronization.AUTO), named.get("trainable"))
        return create_variable(**named)


_DEFAULTS: dict[str, Any] = {
    "initial_value": None, "trainable": None, "collections": None, "validate_shape": True, "caching_device": None,
    "name": None, "variable_def": None, "dtype": None, "expected_shape": None, "import_scope": None, "constraint": None,
    "use_resource": None, "synchronization": VariableSynchronization.AUTO, "aggregation": VariableAggregation.NONE,
}  # fmt: skip
"""The parameters of 1.12's ``tf.Variable``, in order: creators are given all of them."""
_LIFTING = "experimental_enable_variable_lifting"
_PARAMETERS = (*_DEFAULTS, "shape", _LIFTING)


def _by_name(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``tf.Variable`` by name. Raises TypeError on unknown and repeated ones."""
    named = dict(zip(_PARAMETERS, args, strict=False))
    unknown, twice = set(kwargs) - set(_PARAMETERS), set(named) & set(kwargs)
    if unknown or twice or len(args) > len(_PARAMETERS):
        raise TypeError(f"tf.Variable() got unexpected arguments: {sorted(unknown) or sorted(twice)}.")
    return {**named, **kwargs}


def create_variable(**kwargs: Any) -> Any:
    """A new variable, made by the creators in scope, which get each argument of 1.12's ``tf.Variable``."""
    arguments = {**_DEFAULTS, **kwargs}
    if arguments["aggregation"] is None:
        arguments["aggregation"] = VariableAggregation.NONE
    return _through_creators(arguments)


def _through_creators(arguments: Mapping[str, Any]) -> Any:
    creator: Callable[..., Any] = default_creator
    for outer in get_default_graph().creators:
        creator = partial(outer, creator)
    return creator(**arguments)


def trainable_value(synchronization: VariableSynchronization, trainable: bool | None) -> bool:
    """``trainable`` with its default filled in: True, except for ``ON_READ``.

    Raises:
      ValueError: True was asked for with ``ON_READ``.
    """
    if synchronization is VariableSynchronization.ON_READ:
        if trainable:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
                "Pass trainable=False, or another synchronization."
            )
        return False
    return trainable is None or bool(trainable)


_MODES: dict[str, type[enum.Enum]] = {"synchronization": VariableSynchronization, "aggregation": VariableAggregation}


def default_creator(**kwargs: Any) -> Variable:
    """The innermost creator: a strategy's, or the class of variables of the default graph."""
    synchronization = kwargs.get("synchronization", VariableSynchronization.AUTO)
    for argument, value in (("synchronization", synchronization), ("aggregation", kwargs.get("aggregation"))):
        if value is not None and value not in tuple(_MODES[argument]):
            raise ValueError(f"Invalid variable {argument} mode: {value} for variable: {kwargs.get('name')}")
    if kwargs.get("trainable") is None:
        kwargs["trainable"] = synchronization is not VariableSynchronization.ON_READ
    for for_creators in ("trackable_parent", _LIFTING):
        kwargs.pop(for_creators, None)
    use_resource = kwargs.pop("use_resource", None)
    graph = get_default_graph()
    maker, graph.variable_scopes.maker = graph.variable_scopes.maker, None
    try:
        if maker is not None:
            strategy_variable: Variable = maker(**kwargs)
            return strategy_variable
        variable: Variable = type.__call__(graph.variable_class or Variable, **kwargs)
        variable._use_resource = ORIGINAL.later if use_resource is None else bool(use_resource)
        return variable
    finally:
        graph.variable_scopes.maker = maker


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Every variable made inside goes through ``variable_creator(next_creator, **kwargs)``."""
    graph: Any = get_default_graph()
    stacks = [graph.creators]
    # A function's variables are made outside of it.
    while graph.building_function:
        graph = graph.outer
        stacks.append(graph.creators)
    for creators in stacks:
        creators.append(variable_creator)
    try:
        yield
    finally:
        for creators in stacks:
            creators.remove(variable_creator)


class Variable(ScatterMethods, Operators, Convertible, TrackableVariable, metaclass=_ThroughCreators):
    """State that persists between runs. Each use reads it; assignments change it.

    Args:
      initial_value: a tensor, array or number, or a function without arguments that returns one.
      trainable: adds it to ``GraphKeys.TRAINABLE_VARIABLES``.
      collections: default ``[GraphKeys.GLOBAL_VARIABLES]``.
      validate_shape: False allows values of other shapes later.
      name: default "Variable", made unique.
      dtype: element type that the initial value is converted to.
      expected_shape: what the initial value's shape must be compatible with.
      constraint: a function of the value that optimizers apply after an update.
      synchronization, aggregation: how strategies keep and combine copies of it.
      shape: static shape that all values must fit; default the initial value's.
      axis, combine: of a tower-local variable, as of ``StateVariable``.
      caching_device, import_scope: change nothing: reads are not cached, and there are no imported definitions.

    Raises:
      NotImplementedError: ``variable_def`` is given.
      ValueError: no initial value; one of unknown shape (with ``validate_shape``) or of another than ``shape`` or
        ``expected_shape``; a tensor made inside a loop or branch; a constraint that is not callable.
    """

    _use_resource = False

    def __init__(
        self,
        initial_value: TensorLike | None = None,
        trainable: bool = True,
        collections: Iterable[Hashable] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        axis: Axis | None = None,
        combine: str = "first",
        shape: ShapeLike = None,
    ):
        if variable_def is not None:
            raise NotImplementedError(
                "Variables from a VariableDef protocol buffer are not supported; pass initial_value."
            )
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        graph = get_default_graph()
        keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        self._graph = graph.home
        self._trainable = bool(trainable)
        self._constraint = constraint
        self._synchronization = synchronization
        self._aggregation = aggregation
        self._save_slice_info: Any = None
        self._caching_device = caching_device
        self._build(graph, initial_value, name, dtype, expected_shape, validate_shape, axis, combine, shape)
        self._collect(graph, keys)

    def _collect(self, graph: Graph, keys: Sequence[Hashable]) -> None:
        """Adds the variable to collections of the graph."""
        graph.add_to_collections(keys, self)

    def _build(
        self, graph: Graph, initial_value: TensorLike, name: str | None, dtype: DTypeLike | None,
        expected_shape: ShapeLike, validate_shape: bool, axis: Axis | None, combine: str, shape: ShapeLike,
    ) -> None:  # fmt: skip
        """Add the operations of the variable: handle, initial value, initializer and a read under its name.

        A variable of a function that is traced belongs to the graph around it.
        """
        if graph.building_function:
            graph.check_new_variable(name or "Variable")
            if isinstance(initial_value, Tensor):
                initial_value = graph.lifted(initial_value, name or "Variable")
            with init_scope():
                around = get_default_graph()
                self._build(around, initial_value, name, dtype, expected_shape, validate_shape, axis, combine, shape)
            graph.note_variable(self)
            return
        with graph.outside() if callable(initial_value) else _at_root(graph, initial_value), \
                graph.name_scope(name or "Variable") as scope:  # fmt: skip
            base = scope[:-1]
            if callable(initial_value):
                with graph.name_scope("Initializer"), graph.device(None):
                    initial = convert_to_tensor(initial_value(), dtype, name="initial_value")
            else:
                initial = convert_to_tensor(initial_value, dtype, name="initial_value")
            dims = initial.dims if validate_shape else None
            if validate_shape and not shapes.known(dims):
                raise ValueError(
                    f"initial_value must have a shape specified: {initial!r} for variable {base}. Give it one with "
                    "set_shape, or pass validate_shape=False."
                )
            if expected_shape is not None:
                as_shape(expected_shape).assert_is_compatible_with(dims)
            dims = static_shapes.wider(dims, shape, base)
            self._cell = StateVariable(base, initial.dtype, dims, axis, combine=combine)
            self._initial_value = initial
            with graph.outside():
                self._handle = variable_handle(self._cell, base)
                self._initializer = graph.add(
                    self._type("AssignVariableOp"), (self._handle, guard(graph, initial, _of_references(graph))),
                    {"validate_shape": validate_shape}, f"{base}/Assign/", axis=axis,
                )  # fmt: skip
                read = graph.add(self._type("ReadVariableOp"), (self._handle,), None, f"{base}/read/", axis=axis)
                self._snapshot = read.outputs[0]

    def _type(self, type: str) -> str:
        """The type of an operation on this variable: strings have types of their own."""
        return type_for(self._cell, type)

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def handle(self) -> Tensor:
        """The tensor that stands for the variable (dtype ``resource``); its gradient is the variable's."""
        return self._handle

    @property
    def cell(self) -> StateVariable:
        """The key of its value in a session's state."""
        return self._cell

    @property
    def name(self) -> str:
        return self._handle.name

    @property
    def _shared_name(self) -> str:
        return self._handle.op.name

    @property
    def _unique_id(self) -> str:
        """A name that no other variable of the process has, as libraries key what they keep for variables."""
        return f"{self._shared_name}_{id(self._cell)}"

    @property
    def _in_graph_mode(self) -> bool:
        return not self._graph.executing_eagerly

    @property
    def op(self) -> Operation:
        return self._handle.op

    @property
    def dtype(self) -> DType:
        return self._cell.dtype

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self._cell.dims)

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges ``shape`` into the static shape. Raises ValueError where the two contradict each other."""
        self._cell.dims = self.shape.merge_with(shape).raw

    @property
    def device(self) -> str:
        return self._handle.device

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def constraint(self) -> Callable[..., Any] | None:
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        return self._aggregation

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    @property
    def initial_value(self) -> Tensor:
        """The initial value as a tensor; feeding it initializes the variable with another."""
        return self._initial_value

    def start_from(self, value: Tensor) -> None:
        """Makes another tensor its initial value: from now on ``initializer`` assigns that."""
        self._initial_value = value
        self._initializer = self._graph.add(
            self._type("AssignVariableOp"), (self._handle, value), {"validate_shape": True}, f"{self.op.name}/Assign",
            axis=self._cell.axis,
        )  # fmt: skip

    @property
    def created_at(self) -> str:
        """The user's line that made it."""
        return self.op.created_at

    # ---- reading ---------------------------------------------------------------------------------------------

    def _read(self) -> Tensor:
        return self._read_after(())

    def _read_after(self, writes: Sequence[Operation]) -> Tensor:
        """A read that depends on assignments, so that who runs it alone runs them."""
        graph = get_default_graph()
        scope, graph.scope_name = graph.scope_name, ""
        name = f"{self._handle.op.name}/read"
        try:
            read = graph.add(self._type("ReadVariableOp"), (self._handle,), None, name, control_inputs=writes)
            return read.outputs[0]
        finally:
            graph.scope_name = scope

    def value(self) -> Tensor:
        """The value at this point of the program, as a new tensor."""
        return self._read()

    def read_value(self) -> Tensor:
        """``value()``."""
        return self._read()

    def _ref(self) -> Tensor:
        return self._handle

    def _as_graph_element(self) -> Tensor:
        return self._handle

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Rows of the value, ``[*indices.shape, *row]``, of integer ``indices``; their gradient is IndexedSlices."""
        inputs = (self._handle, convert_to_tensor(indices))
        return get_default_graph().add(self._type("ResourceGather"), inputs, None, name or "Gather").outputs[0]

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The slices at the coordinates in the last dimension of ``indices``."""
        inputs = (self.value(), convert_to_tensor(indices))
        return get_default_graph().add(self._type("GatherNd"), inputs, None, name or "GatherNd").outputs[0]

    def initialized_value(self) -> Tensor:
        """The value if the variable is initialized when this runs, else its initial value."""
        inputs = (self._handle, self._initial_value)
        name = f"{self._handle.op.name}/initialized_value"
        return get_default_graph().add(self._type("InitializedValue"), inputs, None, name).outputs[0]

    def eval(self, session: SessionLike | None = None) -> HostArray:
        """The value in ``session`` or the default session. Raises ValueError where there is none."""
        session = session or get_default_session()
        if session is None:
            raise ValueError("eval() needs a session: pass session= or use it inside `with sess.as_default():`.")
        value: HostArray = session.run(self)
        return value

    # ---- changing --------------------------------------------------------------------------------------------

    def _change(self, type: str, inputs: Sequence[Tensor], name: str | None, read_value: bool = True) -> Any:
        """Adds an operation that writes the variable; a strategy's context may replace its inputs."""
        around = TRACE_CONTEXTS.current()
        if around is not None:
            inputs = around.written(self, type, inputs)
        return self._changed(get_default_graph().add(self._type(type), (self._handle, *inputs), None, name), read_value)

    def _changed(self, op: Operation, read_value: bool) -> Any:
        """The return value of an assignment: the operation, or the stored value.

        Of a resource variable that is a read, whose gradient is the variable's; of another it is a constant.
        """
        if not read_value:
            return op
        return self._read_after([op]) if self._use_resource else op.outputs[0]

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Stores a value.

        Args:
          value: converted to the variable's dtype; of its shape.
          use_locking: changes nothing, here and below: the order of effects is fixed.
          name: of the operation; by default "Assign".
          read_value: False: return the operation.

        Returns:
          The stored value as a tensor, or the operation.
        """
        return self._change("AssignVariableOp", [self._operand(value)], name or "Assign", read_value)

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds ``delta``; returns as ``assign`` does."""
        return self._change("AssignAddVariableOp", [self._operand(delta)], name or "AssignAdd", read_value)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts ``delta``; returns as ``assign`` does."""
        return self._change("AssignSubVariableOp", [self._operand(delta)], name or "AssignSub", read_value)

    def _operand(self, value: TensorLike) -> Tensor:
        return convert_to_tensor(value, self.dtype)

    def count_up_to(self, limit: int) -> Tensor:
        """Adds 1 to an integer scalar variable; gives its value before. At ``limit`` a run raises OutOfRangeError."""
        return get_default_graph().add("CountUpTo", (self.handle,), {"limit": int(limit)}, "CountUpTo").outputs[0]

    def scatter(self, kind: str, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Updates rows; returns the new value.

        Args:
          kind: "Update", "Add", "Sub", "Mul", "Div", "Min", "Max", "NdUpdate", "NdAdd" or "NdSub".
          indices: integers; those out of range are dropped.
          updates: ``[*indices.shape, *row]``, or a scalar.
          name: of the operation; by default "Scatter" and the kind.
        """
        inputs = [convert_to_tensor(indices), convert_to_tensor(updates, self.dtype)]
        written: Tensor = self._change(f"ResourceScatter{kind}", inputs, name or f"Scatter{kind}")
        return written

    def assign_slice(self, bounds: Sequence[Tensor], masks: Mapping[str, int], value: Tensor, name: str | None) -> Any:
        """Stores a value in a slice of the variable; ``bounds`` and ``masks`` as of ``tf.strided_slice``."""
        inputs = (self._handle, *bounds, value)
        op = get_default_graph().add("ResourceStridedSliceAssign", inputs, masks, name or "SliceAssign")
        return self._changed(op, True)

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Stores a value in ``session`` or the default session at once. Raises ValueError where there is none."""
        session = session or get_default_session()
        if session is None:
            raise ValueError("load() needs a session: pass session= or use it inside `with sess.as_default():`.")
        session.run(self.initializer, {self._initial_value: value})

    def ref(self) -> Reference:
        """A key for dictionaries and sets that compares by identity."""
        return Reference(self)

    experimental_ref = ref

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A scalar bool tensor: the variable has a value at that point of the run."""
        return get_default_graph().add(self._type("VarIsInitializedOp"), (self._handle,), None, name).outputs[0]

    def to_proto(self, export_scope: str | None = None) -> Any:
        raise NotImplementedError("VariableDef protocol buffers are not supported; rebuild the graph with its code.")

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
        raise NotImplementedError("VariableDef protocol buffers are not supported; rebuild the graph with its code.")

    # ---- Python ----------------------------------------------------------------------------------------------

    def _set_save_slice_info(self, info: Any) -> None:
        self._save_slice_info = info

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def _overloaded(self) -> Tensor:
        """A read at the point of use."""
        return self.value()

    def _to_tensor(self, dtype: DType | None, name: str | None) -> Any:
        if dtype is not None and dtype is not self.dtype:
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable {self.name} of type "
                f"'{self.dtype.name}'. Use tf.cast."
            )
        return self.value()

    def __getitem__(self, key: Any) -> Tensor:
        """A slice of the value; its ``assign`` stores in that part of the variable."""
        part: Tensor = op_registry.operator("__getitem__")(self, key)
        return part

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"Variable {self.name} cannot be iterated over; use tf.unstack.{unconverted()}")

    def __bool__(self) -> bool:
        if not self._use_resource:
            return True  # as of any object: layers write `if bias:`
        raise TypeError(
            f"Variable {self.name} has no truth value while the graph is built; use tf.cond.{unconverted()}"
        )

    __eq__ = equals
    __ne__ = differs

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def _of_references(graph: Graph) -> Iterator[Variable]:
    """The variables of a graph that the original keeps as references: initial values may read them in any order."""
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        yield from (v for v in graph.get_collection(key) if isinstance(v, Variable) and not v._use_resource)


class _ThroughCreatorsV2(_ThroughCreators):
    """Makes variables with the arguments of 2.x; every ``Variable`` is an instance of the class.

    Derived classes are constructed directly, as those that wrap a variable expect.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not VariableV2:
            return type.__call__(cls, *args, **kwargs)
        bound = inspect.signature(cls.__init__).bind(None, *args, **kwargs)
        bound.apply_defaults()
        return _through_creators({k: v for k, v in bound.arguments.items() if k != "self"})

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Variable) if cls is VariableV2 else type.__instancecheck__(cls, instance)


class VariableV2(Variable, metaclass=_ThroughCreatorsV2):
    """``tf.Variable`` of 2.x: a ``Variable``, constructed with other arguments.

    Args:
      initial_value, trainable, validate_shape, caching_device, name, variable_def, dtype, import_scope, constraint,
        synchronization, aggregation, shape: as of ``Variable``.
      experimental_enable_variable_lifting: changes nothing: variables that are made while a function is traced are
        always made outside of it.

    Raises:
      NotImplementedError: a derived class calls ``__init__``: it has to hold a variable and hand on to it.
    """

    def __init__(
        self,
        initial_value: TensorLike | None = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
        experimental_enable_variable_lifting: bool = True,
    ):
        raise NotImplementedError(
            f"{type(self).__name__} is derived from tf.Variable, which makes no state for derived classes. Hold a "
            "tf.Variable, and define what is used of it."
        )


@contextmanager
def _at_root(graph: Graph, initial_value: TensorLike) -> Iterator[None]:
    """Adds a variable's operations to the root region, where ``initial_value`` is, without control inputs.

    Raises:
      ValueError: it was made inside a loop or branch.
    """
    if graph.block is not graph.root and isinstance(initial_value, Tensor) and initial_value.op.block is not graph.root:
        raise ValueError(
            f"The initial value {initial_value!r} of a variable was made inside {graph.block.what} (at "
            f"{initial_value.op.line}), where it has no value before the program runs. Pass a function that makes it."
        )
    with graph.within(graph.root), graph.scopes.without_controls():
        yield
