"""Public functions on the default graph: scopes of names, devices and control dependencies, and collections.

Each is the ``Graph`` method of the same name on ``get_default_graph()``. ``tf.device`` and ``tf.colocate_with`` change
no value: they record where operations were meant to run, and XLA places them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from towerstrat.graph.ir.device_names import merge_device
from towerstrat.graph.ir.device_spec import DeviceLike
from towerstrat.graph.ir.graph import Graph, default_graph_of, enter, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.platform.addresses import take_for_here


def graph_of(values: Iterable[Any] | None) -> Graph:
    """The graph that the tensors, operations and variables among ``values`` belong to, or the default graph.

    Under eager execution and in functions it is the default graph, which can use values from outside.

    Raises:
      ValueError: they belong to different graphs.
    """
    graph = get_default_graph()
    if graph.executing_eagerly or graph.building_function:
        return graph
    first: Any = None
    for value in values or ():
        if not isinstance(value, Tensor | Operation | IndexedSlices) and not hasattr(value, "_as_graph_element"):
            continue
        if first is None:
            first = value
        elif value.graph is not first.graph:
            raise ValueError(f"{value!r} must be from the same graph as {first!r}.")
    return graph if first is None else first.graph


class name_scope:
    """A context manager that prefixes the names of operations made inside; yields the prefix, ending in a slash.

    Args:
      name: the scope's name, made unique; one that ends in a slash re-enters that scope; None: ``default_name``.
      default_name: the name where ``name`` is None.
      values: tensors that are used inside; the scope is opened in their graph.

    Raises:
      ValueError: neither name is given although ``values`` are, or the values are of different graphs.
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: Iterable[object] | None = None):
        self._name = default_name if name is None else name
        self._values = values
        self._entered: list[list[AbstractContextManager[Any]]] = []

    @property
    def name(self) -> str | None:
        return self._name

    def __enter__(self) -> str:
        if self._name is None and self._values is not None:
            raise ValueError("At least one of name and default_name must be provided where values are.")
        graph = graph_of(self._values) if self._values is not None else get_default_graph()
        contexts: list[AbstractContextManager[Any]] = []
        if graph is not get_default_graph():
            contexts.append(graph.as_default())
        scope = graph.name_scope(self._name)
        contexts.append(scope)
        for context in contexts[:-1]:
            context.__enter__()
        try:
            result: str = scope.__enter__()
        except BaseException:
            for context in reversed(contexts[:-1]):
                context.__exit__(None, None, None)
            raise
        self._entered.append(contexts)
        return result

    def __exit__(self, *exc: object) -> None:
        for context in reversed(self._entered.pop()):
            context.__exit__(*exc)


@contextmanager
def op_scope(values: Iterable[object], name: str | None, default_name: str | None = None) -> Iterator[str]:
    """``name_scope(name, default_name, values)`` under its older name."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def device(device_name_or_function: DeviceLike) -> AbstractContextManager[None]:
    """Changes nothing about values: operations made inside record where they were meant to run, XLA places them.

    Raises:
      RuntimeError: a function is given where operations are executed eagerly.
      ValueError: what is given there is no name of a device.
    """
    graph = get_default_graph()
    if graph.executing_eagerly and callable(device_name_or_function):
        raise RuntimeError("tf.device does not support functions when eager execution is enabled.")
    if graph.home.executing_eagerly and not callable(device_name_or_function):
        take_for_here([merge_device("", device_name_or_function)])
    return graph.device(device_name_or_function)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Operations made inside run after ``control_inputs``; None forgets the dependencies of the scopes around.

    Where operations are executed eagerly everything before has run, and functions among ``control_inputs`` are called.
    """
    graph = get_default_graph()
    if graph.executing_eagerly:
        for control in control_inputs or ():
            if callable(control):
                control()
        return nullcontext()
    if control_inputs is not None:
        control_inputs = [c.op if isinstance(c, IndexedSlices) else c for c in control_inputs]
    return graph.control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Changes nothing about values: operations made inside record the device of ``op``, XLA places them."""
    if isinstance(op, IndexedSlices):
        op = op.values
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Changes nothing: each session keeps its own state."""
    return get_default_graph().container(container_name)


@contextmanager
def init_scope() -> Iterator[None]:
    """Lifts operations made inside out of functions, loops, branches, towers and control dependencies.

    They are executed eagerly if eager execution is enabled, else added to the outermost graph. The name scope stays.
    """
    outer = get_default_graph().home
    scope = get_default_graph().get_name_scope()
    with enter(outer), outer.outside(), outer.name_scope(f"{scope}/" if scope else None):
        yield


def _collecting() -> Graph:
    """The graph whose collections the program sees; under eager execution those of the global graph."""
    graph = get_default_graph()
    return default_graph_of(graph) if graph.executing_eagerly else graph


def add_to_collection(name: Hashable, value: Any) -> None:
    """Appends a value to a collection of the default graph."""
    _collecting().add_to_collection(name, value)


def add_to_collections(names: str | Iterable[Hashable], value: Any) -> None:
    """Appends a value to several collections, or to the one that a string names."""
    _collecting().add_to_collections(names, value)


def get_collection(key: Hashable, scope: str | None = None) -> list[Any]:
    """A copy of a collection; with ``scope``, of the items whose names match that regular expression at their start."""
    return _collecting().get_collection(key, scope)


def get_collection_ref(key: Hashable) -> list[Any]:
    """The collection itself: changing the list changes the collection."""
    return _collecting().get_collection_ref(key)
