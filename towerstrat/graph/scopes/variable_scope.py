"""``tf.variable_scope`` and ``tf.get_variable``: variables shared by name.

A variable scope prefixes names, sets defaults of ``get_variable``'s arguments, and says whether a name may exist
(``reuse``): None makes only, True gets only, ``AUTO_REUSE`` does either. Variables are looked up in the graph's
``VariableStore``; name scopes do not count for their names.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     with tf.variable_scope("layer"):
...         w = tf.get_variable("w", [2])
...     with tf.variable_scope("layer", reuse=True):
...         same = tf.get_variable("w", [2])
>>> w is same, w.name
(True, 'layer/w:0')

Entering a scope also opens a name scope of the same name, made unique: ``layer``, then ``layer_1``. So operations get
new names where variables keep theirs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

from towerstrat.graph.ir.argument_types import ShapeLike
from towerstrat.graph.ir.default_graph import graph_of
from towerstrat.graph.ir.device_spec import DeviceLike
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import DType, DTypeLike, as_dtype, float32
from towerstrat.graph.scopes.variable_store import (
    AUTO_REUSE,
    Constraint,
    InitializerLike,
    Regularizer,
    Reuse,
    VariableGetter,
    VariableStore,
    store_of,
)
from towerstrat.graph.variables.partitioned import Partitioner
from towerstrat.graph.variables.variables import GraphKeys, Variable, VariableAggregation, VariableSynchronization


def no_regularizer(_: object) -> None:
    """A regularizer that adds nothing, to override a scope's."""


class VariableScope:
    """The context of ``get_variable``: a prefix of names, the reuse mode, and defaults of its arguments.

    Args:
      reuse: True (get only), False or None (make only), or ``AUTO_REUSE``; eagerly it is always the last.
      name: the prefix of variables' names.
      name_scope: the name scope that was opened with it.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: defaults.
    """

    def __init__(
        self,
        reuse: Reuse,
        name: str = "",
        initializer: InitializerLike = None,
        regularizer: Regularizer | None = None,
        caching_device: DeviceLike = None,
        partitioner: Partitioner | None = None,
        custom_getter: VariableGetter | None = None,
        name_scope: str = "",
        dtype: DType = float32,
        use_resource: bool | None = None,
        constraint: Constraint | None = None,
    ):
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._reuse = AUTO_REUSE if get_default_graph().executing_eagerly else reuse
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint

    @property
    def name(self) -> str:
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was opened with this scope, with its slash, to be entered again."""
        return self._name_scope

    @property
    def reuse(self) -> Reuse:
        return self._reuse

    @property
    def initializer(self) -> InitializerLike:
        return self._initializer

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        return self._use_resource

    @property
    def regularizer(self) -> Regularizer | None:
        return self._regularizer

    @property
    def caching_device(self) -> DeviceLike:
        return self._caching_device

    @property
    def partitioner(self) -> Partitioner | None:
        return self._partitioner

    @property
    def custom_getter(self) -> VariableGetter | None:
        return self._custom_getter

    @property
    def constraint(self) -> Constraint | None:
        return self._constraint

    def reuse_variables(self) -> None:
        """Sets ``reuse`` to True: from now on ``get_variable`` only gets existing variables."""
        self._reuse = True

    def set_initializer(self, initializer: InitializerLike) -> None:
        self._initializer = initializer

    def set_dtype(self, dtype: DType) -> None:
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Changes nothing: variables are always read where they are used."""
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Regularizer | None) -> None:
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: DeviceLike) -> None:
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Partitioner | None) -> None:
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: VariableGetter | None) -> None:
        self._custom_getter = custom_getter

    def get_collection(self, name: Hashable) -> list[Any]:
        """The items of a collection whose names begin with this scope's."""
        return get_default_graph().get_collection(name, f"{self._name}/" if self._name else "")

    def trainable_variables(self) -> list[Variable]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Variable]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Variable]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike | None = None,
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
        """Gets or makes a variable below this scope, with the scope's defaults for arguments that are None."""
        with get_default_graph().name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                value_dtype = convert_to_tensor(initializer).dtype
                if value_dtype != dtype:
                    raise ValueError(
                        f"Initializer type '{value_dtype.name}' and explicit dtype '{as_dtype(dtype).name}' don't "
                        f"match (variable {name})."
                    )
            return var_store.get_variable(
                f"{self._name}/{name}" if self._name else name,
                shape=shape,
                dtype=self._dtype if dtype is None else dtype,
                initializer=self._initializer if initializer is None else initializer,
                regularizer=self._regularizer if regularizer is None else regularizer,
                reuse=self._reuse if reuse is None else reuse,
                trainable=trainable,
                collections=collections,
                caching_device=self._caching_device if caching_device is None else caching_device,
                partitioner=self._partitioner if partitioner is None else partitioner,
                validate_shape=validate_shape,
                use_resource=self._use_resource if use_resource is None else use_resource,
                custom_getter=self._custom_getter if custom_getter is None else custom_getter,
                constraint=self._constraint if constraint is None else constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )


def get_variable_scope() -> VariableScope:
    """The current variable scope."""
    scopes = store_of(get_default_graph()).scopes
    if scopes.current is None:
        scopes.current = VariableScope(False)
    return scopes.current


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike = None,
    regularizer: Regularizer | None = None,
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
    """Gets a variable by name from the current variable scope, or makes it, as the scope's ``reuse`` says.

    Args:
      name: below the current variable scope; the name scope does not count.
      shape: of a new variable; of an existing one it must agree.
      dtype: default the scope's, float32.
      initializer: ``f(shape, dtype=[, partition_info=])``, its class, a tensor or a value (then without ``shape``);
        default the scope's, else Glorot's uniform one for floats and zeros for the rest.
      regularizer: of a new variable, ``f(variable)`` is added to ``GraphKeys.REGULARIZATION_LOSSES``.
      trainable: default True, but False with ``synchronization=ON_READ``.
      collections: default ``[GraphKeys.GLOBAL_VARIABLES]``.
      caching_device: changes nothing.
      partitioner: ``f(shape=, dtype=)`` that gives the number of parts in each dimension; the result is then a
        ``PartitionedVariable``.
      validate_shape: False allows an initial value of unknown shape.
      use_resource: what assignments return has the variable's gradient, as a read has.
      custom_getter: called in place of the getter, which it gets as its first argument.
      constraint: applied by optimizers after an update.
      synchronization: when copies of it that a strategy makes are made equal.
      aggregation: the reduction of values that replicas assign to it.

    Raises:
      ValueError: it exists and may not be shared, does not exist and may not be made, or exists with another shape or
        dtype.
    """
    return get_variable_scope().get_variable(
        store_of(get_default_graph()), name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
        trainable=trainable, collections=collections, caching_device=caching_device, partitioner=partitioner,
        validate_shape=validate_shape, use_resource=use_resource, custom_getter=custom_getter, constraint=constraint,
        synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip


def get_local_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike = None,
    regularizer: Regularizer | None = None,
    trainable: bool = False,
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
    """``get_variable`` for a variable in ``GraphKeys.LOCAL_VARIABLES``. It is never trainable, whatever is passed."""
    return get_variable(
        name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES], caching_device=caching_device,
        partitioner=partitioner, validate_shape=validate_shape, use_resource=use_resource, custom_getter=custom_getter,
        constraint=constraint, synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip


class variable_scope:
    """Context manager: opens a variable scope and a name scope of the same name; yields the ``VariableScope``.

    Args:
      name_or_scope: the name below the current scope, or a ``VariableScope`` to enter again; None: ``default_name``.
      default_name: the name where ``name_or_scope`` is None, with ``_1``, ``_2``, ... where it was used before.
      values: tensors that are used inside; the scope is opened in their graph.
      reuse: True, ``AUTO_REUSE``, or None/False for that of the enclosing scope.
      auxiliary_name_scope: False opens no name scope.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: defaults of
        ``get_variable`` inside; but for ``constraint`` they are inherited.

    Raises:
      TypeError: no name at all, or one that is neither a string nor a ``VariableScope``.
      ValueError: ``reuse`` is something else, or True without ``name_or_scope``.
    """

    def __init__(
        self,
        name_or_scope: str | VariableScope | None,
        default_name: str | None = None,
        values: Iterable[object] | None = None,
        initializer: InitializerLike = None,
        regularizer: Regularizer | None = None,
        caching_device: DeviceLike = None,
        partitioner: Partitioner | None = None,
        custom_getter: VariableGetter | None = None,
        reuse: Reuse = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Constraint | None = None,
        auxiliary_name_scope: bool = True,
    ):
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required.")
        if name_or_scope is not None and not isinstance(name_or_scope, str | VariableScope):
            raise TypeError(
                f"VariableScope: name_or_scope must be a string or VariableScope, got {type(name_or_scope).__name__}."
            )
        if reuse is not None and reuse is not AUTO_REUSE and not isinstance(reuse, bool):
            raise ValueError(f"The reuse parameter must be True, False, None or tf.AUTO_REUSE, got {reuse!r}.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, got {auxiliary_name_scope!r}.")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope.")
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._graph = graph_of(values)
        self._reuse = reuse or None
        self._custom_getter = custom_getter
        self._constraint = constraint
        self._auxiliary = auxiliary_name_scope
        self._defaults: dict[str, Any] = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "dtype": None if dtype is None else as_dtype(dtype),
            "use_resource": use_resource,
        }
        self._unique: str | None = None
        self._entered: list[ExitStack] = []

    def __enter__(self) -> VariableScope:
        with ExitStack() as stack:
            if self._graph is not get_default_graph():
                stack.enter_context(self._graph.as_default())
            name_scope = self._enter_name_scope(stack)
            scope = stack.enter_context(self._scope_context(name_scope))
            self._entered.append(stack.pop_all())
        return scope

    def __exit__(self, *exc: Any) -> None:
        self._entered.pop().__exit__(*exc)

    def _enter_name_scope(self, stack: ExitStack) -> str | None:
        """Opens the name scope, if there is to be one; returns its name with a slash."""
        graph = self._graph
        name: str | None
        if not self._auxiliary:
            return f"{graph.scope_name}/" if graph.scope_name else ""
        if isinstance(self._name_or_scope, VariableScope):
            name = self._name_or_scope.name.rsplit("/", 1)[-1]
        else:
            name = self._name_or_scope if self._name_or_scope is not None else self._default_name
        return stack.enter_context(graph.name_scope(name)) if name else None

    def _scope_context(self, name_scope: str | None) -> AbstractContextManager[VariableScope]:
        """The context manager of the variable scope: a new one, or one that is entered again."""
        store = store_of(self._graph)
        name_or_scope = self._name_or_scope
        outer = get_variable_scope()
        if isinstance(name_or_scope, VariableScope):
            scope = self._derive(
                name_or_scope, name_or_scope.name, self._reuse or name_or_scope.reuse, name_or_scope.original_name_scope
            )
            return _again(store, scope)
        if name_or_scope is None:
            if self._unique is None:
                self._unique = _unused_name(store, outer, self._default_name or "")
            name_or_scope = self._unique
        name = f"{outer.name}/{name_or_scope}" if outer.name else name_or_scope
        opened = name_or_scope if name_scope is None else name_scope
        return _below(store, self._derive(outer, name, self._reuse or outer.reuse, opened))

    def _derive(self, base: VariableScope, name: str, reuse: Reuse, name_scope: str) -> VariableScope:
        """A scope with the given defaults, else those of ``base``."""
        inherited = {k: getattr(base, k) if v is None else v for k, v in self._defaults.items()}
        getter = self._custom_getter
        if getter is None:
            getter = base.custom_getter
        elif base.custom_getter is not None:
            getter = _nest_getters(getter, base.custom_getter)
        return VariableScope(
            reuse, name=name, custom_getter=getter, name_scope=name_scope, constraint=self._constraint, **inherited
        )


def _nest_getters(inner: VariableGetter, outer: VariableGetter) -> VariableGetter:
    """A custom getter that calls ``inner`` with a getter that calls ``outer``."""

    def custom_getter(getter: VariableGetter, *args: Any, **kwargs: Any) -> Any:
        return inner(partial(outer, getter), *args, **kwargs)

    return custom_getter


@contextmanager
def _again(store: VariableStore, scope: VariableScope) -> Iterator[VariableScope]:
    """Enters an existing scope; default names that are used inside are free again afterwards."""
    scopes = store.scopes
    saved = scopes.current
    scopes.count_opening(scope.name)
    counts = dict(scopes.counts)
    scopes.current = scope
    try:
        yield scope
    finally:
        scopes.counts = counts
        scopes.current = saved


@contextmanager
def _below(store: VariableStore, scope: VariableScope) -> Iterator[VariableScope]:
    """Enters a new scope."""
    scopes = store.scopes
    saved = scopes.current
    scopes.count_opening(scope.name)
    scopes.current = scope
    try:
        yield scope
    finally:
        scopes.close_below(scope.name)
        scopes.current = saved


def _unused_name(store: VariableStore, outer: VariableScope, prefix: str) -> str:
    """``prefix``, with ``_1``, ``_2``, ... where the name was used in the enclosing scope."""
    base = f"{outer.name}/{prefix}" if outer.name else prefix
    counts = store.scopes.counts
    if not counts.get(base):
        return prefix
    i = 1
    while counts.get(f"{base}_{i}"):
        i += 1
    return f"{prefix}_{i}"


@contextmanager
def variable_op_scope(
    values: Iterable[object] | None,
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    initializer: InitializerLike = None,
    regularizer: Regularizer | None = None,
    caching_device: DeviceLike = None,
    partitioner: Partitioner | None = None,
    custom_getter: VariableGetter | None = None,
    reuse: Reuse = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Constraint | None = None,
) -> Iterator[VariableScope]:
    """``variable_scope`` under its older name, with ``values`` first."""
    with variable_scope(
        name_or_scope, default_name, values, initializer, regularizer, caching_device, partitioner, custom_getter,
        reuse, dtype, use_resource, constraint,
    ) as scope:  # fmt: skip
        yield scope


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: InitializerLike,
    dtype: DTypeLike = float32,
    trainable: bool = True,
    collections: Iterable[Hashable] | None = None,
    name: str | None = None,
    reuse: Reuse = None,
) -> list[Variable]:
    """Makes a variable of ``shape`` in ``slicing[i]`` parts along dimension i (one dimension only); returns the parts.

    Raises:
      ValueError: ``shape`` and ``slicing`` differ in length, or the shape is a scalar's.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            f"The 'shape' and 'slicing' of a partitioned Variable must have the same length: {shape} and {slicing}."
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, got shape {shape}.")
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope, get_default_graph().name_scope(None):
        if scope.custom_getter is not None:
            raise ValueError(
                "create_partitioned_variables does not work where a custom getter is set; use tf.get_variable with "
                "partitioner= instead."
            )
        settings = {
            "regularizer": scope.regularizer, "reuse": scope.reuse, "trainable": trainable, "collections": collections,
            "caching_device": scope.caching_device, "validate_shape": True, "use_resource": scope.use_resource,
            "constraint": scope.constraint, "synchronization": VariableSynchronization.AUTO,
            "aggregation": VariableAggregation.NONE,
        }  # fmt: skip
        initial = scope.initializer if initializer is None else initializer
        variable = store_of(get_default_graph()).get_partitioned(
            scope.name, lambda **unused: list(slicing), shape, as_dtype(dtype), initial, settings
        )
        return list(variable)
