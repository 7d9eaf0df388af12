"""Variable stores: the variables of a graph by full name, which ``get_variable`` gets or makes.

The way of a call: ``get_variable`` -> current ``VariableScope`` (prefix, defaults) -> ``VariableStore.get_variable``
(custom getter) -> ``_get`` -> one variable (``_single``) or a partitioned one. An existing name must fit in shape and
dtype, and the scope must allow it. A new variable gets an initializer (Glorot uniform for floats, zeros for integers,
bools and strings), and its regularizer's loss goes to a collection.

Eagerly variables are made anew by each call, since there is no graph to keep them, unless an ``EagerVariableStore`` is
current.
"""

from __future__ import annotations

import copy
import enum
import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from towerstrat.graph.ir.argument_types import ShapeLike, TensorLike
from towerstrat.graph.ir.device_spec import DeviceLike
from towerstrat.graph.ir.graph import Graph, default_graph_of, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import TensorShape, as_shape
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, DTypeLike, as_dtype, float32, string
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.scopes.initializers import glorot_uniform_initializer, zeros_initializer
from towerstrat.graph.variables import partitioned
from towerstrat.graph.variables.partitioned import PartitionedVariable, Partitioner, PartitionInfo, SaveSliceInfo
from towerstrat.graph.variables.variables import (
    GraphKeys,
    Variable,
    VariableAggregation,
    VariableSynchronization,
    create_variable,
    trainable_value,
)
from towerstrat.platform.threads import ThreadState

if TYPE_CHECKING:
    from towerstrat.graph.scopes.variable_scope import VariableScope


class ReuseMode(enum.Enum):
    """``AUTO_REUSE``: get the variable if it exists, else make it."""

    AUTO_REUSE = 1


AUTO_REUSE = ReuseMode.AUTO_REUSE

Reuse: TypeAlias = "bool | ReuseMode | None"
"""What a scope allows: True gets only, False or None makes only, ``AUTO_REUSE`` does either."""
InitializerLike: TypeAlias = "Callable[..., TensorLike] | TensorLike | None"
"""An initializer or its class, a function without arguments, a value, or None for a default."""
Regularizer: TypeAlias = "Callable[[Variable], TensorLike | None]"
"""The loss that a variable adds to ``REGULARIZATION_LOSSES``; None: none."""
Constraint: TypeAlias = "Callable[[Tensor], Tensor]"
"""An updated value -> the one that is stored."""
VariableGetter: TypeAlias = "Callable[..., Any]"
"""Arguments of ``get_variable``, after a getter that a custom one wraps -> a variable."""


class Scopes(ThreadState):
    """The variable scopes of a thread.

    Attributes:
      current: the innermost ``VariableScope``, or None.
      counts: full name -> how often a scope of this name was opened, for unique names from ``default_name``.
    """

    def __init__(self) -> None:
        self.current: VariableScope | None = None
        self.counts: dict[str, int] = {}

    def count_opening(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_below(self, name: str) -> None:
        """Resets the counts of scopes inside the named one."""
        for key in self.counts:
            if key.startswith(name + "/"):
                self.counts[key] = 0


class VariableStore:
    """The variables of one graph by their full names.

    Args:
      keeps_eager: whether eager variables are stored and found again; else they live as long as the program holds them.

    Attributes:
      variables, partitioned: full name -> variable.
      scopes: the variable scopes of the current thread.
    """

    def __init__(self, keeps_eager: bool = False) -> None:
        self.keeps_eager = keeps_eager
        self.variables: dict[str, Variable] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}
        self.scopes = Scopes()

    def get_variable(
        self,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        initializer: InitializerLike = None,
        regularizer: Regularizer | None = None,
        reuse: Reuse = None,
        trainable: bool | None = None,
        collections: Iterable[Hashable] | None = None,
        caching_device: DeviceLike = None,
        partitioner: Partitioner | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: VariableGetter | None = None,
        constraint: Constraint | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """Gets or makes the variable of this full name, by ``custom_getter`` if given. See ``tf.get_variable``."""
        if self.keeps_eager:
            reuse = AUTO_REUSE
        elif get_default_graph().executing_eagerly:
            reuse = False
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter!r}.")
        settings: dict[str, Any] = {
            "shape": shape,
            "dtype": as_dtype(dtype),
            "initializer": initializer,
            "regularizer": regularizer,
            "reuse": reuse,
            "trainable": trainable_value(synchronization, trainable),
            "collections": collections,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "validate_shape": validate_shape,
            "use_resource": use_resource,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        if custom_getter is None:
            return self._get(name, **settings, constraint=constraint)
        if _accepts(custom_getter, "constraint"):
            settings["constraint"] = constraint
        return custom_getter(getter=self._get, name=name, **settings)

    def _get(
        self, name: str, shape: ShapeLike = None, dtype: DTypeLike = float32, initializer: InitializerLike = None,
        regularizer: Regularizer | None = None, reuse: Reuse = None, trainable: bool | None = None,
        collections: Iterable[Hashable] | None = None, caching_device: DeviceLike = None,
        partitioner: Partitioner | None = None, validate_shape: bool = True, use_resource: bool | None = None,
        constraint: Constraint | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Variable | PartitionedVariable:  # fmt: skip
        """The getter that custom getters wrap."""
        dtype = as_dtype(dtype)
        settings: dict[str, Any] = {
            "regularizer": regularizer,
            "reuse": reuse,
            "trainable": trainable,
            "collections": collections,
            "caching_device": caching_device,
            "validate_shape": validate_shape,
            "use_resource": bool(use_resource),
            "constraint": constraint,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        scalar = isinstance(shape, Sequence) and not shape
        if partitioner is not None and not scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner!r}.")
            return self.get_partitioned(name, partitioner, shape, dtype, initializer, settings)
        if reuse is True and partitioner is None and name in self.partitioned:
            return self.get_partitioned(name, None, shape, dtype, initializer, settings)
        if f"{name}/part_0" in self.variables:
            raise ValueError(
                f"No partitioner was provided, but variable {name} was created in parts ({name}/part_0). Use the same "
                "partitioner, or another name."
            )
        return self._single(name, shape, dtype, initializer, None, **settings)

    def _keeps(self) -> bool:
        """Whether variables that are made now are stored."""
        return self.keeps_eager or not get_default_graph().executing_eagerly

    # ---- one variable ----------------------------------------------------------------------------------------

    def _single(
        self, name: str, shape: ShapeLike, dtype: DType, initializer: InitializerLike, info: PartitionInfo | None, *,
        regularizer: Regularizer | None, reuse: Reuse, **settings: Any,
    ) -> Variable:  # fmt: skip
        """Gets or makes a variable in one piece; ``info`` says which part of a partitioned variable it is."""
        from_value = initializer is not None and not callable(initializer)
        if from_value and shape is not None:
            raise ValueError(f"If initializer is a constant, do not specify shape (variable {name}).")
        shape = as_shape(shape)
        keeps = self._keeps()
        existing = self.variables.get(name) if keeps else None
        if existing is not None:
            return _share_existing(name, existing, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        variable: Variable = create_variable(
            initial_value=_initial(name, shape, dtype, initializer, info)
            if initializer is None or callable(initializer)
            else initializer,
            name=name,
            dtype=None if from_value else dtype,
            **settings,
        )
        if keeps:
            self.variables[name] = variable
        if regularizer is not None:
            _regularize(name, variable, regularizer)
        return variable

    # ---- variables in parts ----------------------------------------------------------------------------------

    def get_partitioned(
        self, name: str, partitioner: Partitioner | None, shape: ShapeLike, dtype: DType, initializer: InitializerLike,
        settings: dict[str, Any],
    ) -> PartitionedVariable:  # fmt: skip
        """Gets or makes the partitioned variable of this full name; without a partitioner it must exist."""
        if name in self.variables:
            raise ValueError(
                f"A partitioner was provided, but variable {name} was created in one piece. Leave the partitioner out, "
                "or use another name."
            )
        reuse = settings["reuse"]
        shape = as_shape(shape)
        if isinstance(initializer, Tensor):
            shape = shape.merge_with(initializer.shape)
        counts = _partitions(name, partitioner, shape, dtype) if partitioner is not None else None
        keeps = self._keeps()
        existing = self.partitioned.get(name) if keeps else None
        if existing is not None:
            if reuse is False:
                raise ValueError(
                    f"Partitioned variable with name {name} already exists. "
                    "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
                )
            _check_same(name, shape, dtype, existing)
            if counts is not None and counts != existing._get_partitions():
                raise ValueError(
                    f"Trying to reuse partitioned variable {name}, but specified partitions {counts} and found "
                    f"partitions {existing._get_partitions()}."
                )
            return existing
        if reuse is True or counts is None:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        full_shape = [int(d) for d in shape]
        dim, sizes = partitioned.slices(full_shape, counts)
        if f"{name}/part_0" in self.variables:
            raise ValueError(f"A part of variable {name} was created on its own ({name}/part_0); use another name.")
        parts = []
        offset = [0] * len(full_shape)
        for i, size in enumerate(sizes):
            part_shape = [*full_shape[:dim], size, *full_shape[dim + 1 :]]
            parts.append(
                self._part(f"{name}/part_{i}", full_shape, list(offset), part_shape, dtype, initializer, settings)
            )
            parts[-1]._set_save_slice_info(SaveSliceInfo(name, full_shape, list(offset), part_shape))
            offset[dim] += size
        variable = PartitionedVariable(name, shape, dtype, parts, counts)
        if keeps:
            self.partitioned[name] = variable
        return variable

    def _part(
        self, name: str, full_shape: list[int], offset: list[int], shape: list[int], dtype: DType,
        initializer: InitializerLike, settings: dict[str, Any],
    ) -> Variable:  # fmt: skip
        """Makes one part of a partitioned variable, of shape ``shape`` at ``offset`` in the whole."""
        info = PartitionInfo(full_shape, offset)
        graph = get_default_graph()
        if initializer is None or callable(initializer):
            return self._single(name, shape, dtype, initializer, info, **settings)
        with graph.name_scope(f"{name}/PartitionedInitializer"):
            value = convert_to_tensor(initializer, None if isinstance(initializer, Tensor) else dtype)
            value = arrays.slice(value, offset, shape)
        with graph.name_scope(None):
            return self._single(name, None, value.dtype, value, info, **settings)


def store_of(graph: Graph) -> VariableStore:
    """The store of the graph that holds the program's collections (see ``default_graph_of``), made on first use."""
    home = default_graph_of(graph)
    if home.variable_scopes.store is None:
        home.variable_scopes.store = VariableStore()
    store: VariableStore = home.variable_scopes.store
    return store


class EagerVariableStore:
    """Stores variables that ``get_variable`` and functional layers make eagerly, so that later calls find them.

    Args:
      store: a ``VariableStore`` that keeps eager variables; default a new one.

    >>> from towerstrat.graph.eager import mode
    >>> from towerstrat.graph.scopes.variable_scope import get_variable
    >>> store = EagerVariableStore()
    >>> with mode.eager_mode(), store.as_default():
    ...     get_variable("w", [2]) is get_variable("w", [2])
    True
    """

    def __init__(self, store: VariableStore | None = None):
        if store is not None and not store.keeps_eager:
            raise ValueError("Cannot construct EagerVariableStore from a VariableStore that holds no eager variables.")
        self._store = VariableStore(keeps_eager=True) if store is None else store

    @contextmanager
    def as_default(self) -> Iterator[VariableStore]:
        """Makes this the store of ``get_variable`` inside."""
        home = default_graph_of(get_default_graph())
        outer = store_of(home)
        self._store.scopes = outer.scopes
        home.variable_scopes.store = self._store
        try:
            yield self._store
        finally:
            home.variable_scopes.store = outer

    def variables(self) -> list[Variable]:
        return sorted(self._store.variables.values(), key=lambda v: v.name)

    def trainable_variables(self) -> list[Variable]:
        return [v for v in self.variables() if v.trainable]

    def non_trainable_variables(self) -> list[Variable]:
        return [v for v in self.variables() if not v.trainable]

    def copy(self) -> EagerVariableStore:
        """A store with copies of the variables: the same names and values."""
        store = EagerVariableStore()
        store._store.variables = {name: copy.deepcopy(v) for name, v in self._store.variables.items()}
        return store


def _accepts(function: Callable[..., Any], parameter: str) -> bool:
    """Whether a function takes a keyword argument of this name."""
    parameters = inspect.signature(function).parameters
    return parameter in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _share_existing(name: str, existing: Variable, shape: TensorShape, dtype: DType, reuse: Reuse) -> Variable:
    """An existing variable that is asked for again. Raises ValueError where that is not allowed or does not fit."""
    if reuse is False:
        raise ValueError(
            f"Variable {name} already exists, disallowed. "
            "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope? "
            f"Originally defined at:\n\n{existing.op.created_at}"
        )
    if not shape.is_compatible_with(existing.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape {existing.shape}."
        )
    if dtype is not existing.dtype:
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype {existing.dtype.name}."
        )
    return existing


def _check_same(name: str, shape: TensorShape, dtype: DType, existing: PartitionedVariable) -> None:
    """Raises ValueError where an existing partitioned variable has another shape or dtype."""
    if not shape.is_compatible_with(existing.shape):
        raise ValueError(
            f"Trying to reuse partitioned variable {name}, but specified shape {shape} and found shape "
            f"{existing.shape}."
        )
    if dtype is not existing.dtype:
        raise ValueError(
            f"Trying to reuse partitioned variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{existing.dtype.name}."
        )


def _initial(
    name: str,
    shape: TensorShape,
    dtype: DType,
    initializer: Callable[..., TensorLike] | None,
    info: PartitionInfo | None,
) -> Callable[[], TensorLike]:
    """A function without arguments that makes the initial value.

    Raises:
      ValueError: there is no default for the dtype, or a shape is needed that is not fully known.
    """
    if initializer is None:
        if dtype.is_floating:
            initializer = glorot_uniform_initializer()
        elif dtype.is_integer or dtype.is_bool or dtype is string:
            initializer = zeros_initializer()
        else:
            raise ValueError(f"An initializer for variable {name} of {dtype.name} is required.")
    function: Callable[..., TensorLike] = initializer(dtype=dtype) if isinstance(initializer, type) else initializer
    parameters = inspect.signature(function).parameters
    if shape.is_fully_defined():
        dims = shape.as_list()
        # 1.12 told every initializer of partitions, later versions those that name them: Keras' refuse other keywords.
        keywords = {"partition_info": info} if "partition_info" in parameters else {}
        return lambda: function(dims, dtype=dtype, **keywords)
    needed = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if needed:
        raise ValueError(
            f"Variable {name} has shape {shape}, which is not fully defined: its initializer must then take no "
            f"arguments, but {function!r} takes {needed}. Pass a full shape, or a function without arguments."
        )
    return function


def _partitions(name: str, partitioner: Partitioner, shape: TensorShape, dtype: DType) -> list[int]:
    """The number of parts in each dimension. Raises ValueError where the partitioner returns anything else."""
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was {shape}."
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape} (variable {name}).")
    counts = partitioner(shape=shape, dtype=dtype)
    if not isinstance(counts, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {counts!r}.")
    if len(counts) != len(shape):
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {counts} vs. {shape}."
        )
    if any(c < 1 for c in counts):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {counts}.")
    return list(counts)


def _regularize(name: str, variable: Variable, regularizer: Regularizer) -> None:
    """Adds the regularizer's loss to ``REGULARIZATION_LOSSES``. Inside a loop it is computed in each iteration."""
    graph = get_default_graph()
    with graph.colocate_with(variable), graph.name_scope(f"{name}/Regularizer/"), _outside_branches(graph):
        loss = regularizer(variable)
    if loss is not None:
        default_graph_of(graph).add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


@contextmanager
def _outside_branches(graph: Graph) -> Iterator[None]:
    """Adds operations outside the branches of ``tf.cond`` that enclose the caller, so that a loss can be used there."""
    saved = graph.block
    block = saved
    while block.parent is not None and block.predicate is not None and block.predicate.op.block.encloses(block):
        block = block.parent
    graph.block = block
    try:
        with graph.control_dependencies(None):
            yield
    finally:
        graph.block = saved
