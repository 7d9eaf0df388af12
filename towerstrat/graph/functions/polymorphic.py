"""``tf.function``: a Python function, traced once per signature of its arguments, then called as a program.

A ``Function`` holds the traces (``ConcreteFunction``) in a cache. The key is (surroundings, one key per argument):
tensors and arrays count by dtype and shape, Python values by type and value, objects by identity (``arguments``); the
surroundings are the graph in which it is called, the distribution context, and the replica (``_surroundings``). A
Python number is a constant of the trace:

>>> from towerstrat.graph.ir.types import float32
>>> times = function(lambda x, n: x * n)
>>> two, four = TensorSpec([2], float32), TensorSpec([4], float32)
>>> traces = [times.get_concrete_function(*call) for call in ((two, 3), (two, 3), (four, 3), (two, 4))]
>>> times.experimental_get_tracing_count(), traces[0] is traces[1]
(3, True)

With ``reduce_retracing`` the second shape makes a trace of ``[None]`` that serves all sizes from then on.

Calling is ``Function.__call__`` (look up) -> ``ConcreteFunction.call`` (pack) -> ``Traced.__call__`` (run or inline). A
trace that captures tensors of the graph around it is kept under that graph and found only there.

A method is a descriptor: each instance has a ``Function`` of its own, which does not keep the instance alive
(``_bind``). Variables may be made in the first trace only (``FunctionGraph.creates``).
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from towerstrat.graph.autograph.api import converted
from towerstrat.graph.autograph.methods import Bound, WeakMethod
from towerstrat.graph.autograph.options import Feature
from towerstrat.graph.eager.context import context
from towerstrat.graph.functions import arguments
from towerstrat.graph.functions.concrete import ConcreteFunction, as_result
from towerstrat.graph.functions.eagerly import functions_run_eagerly
from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.functions.signature import check_signature, fit_arguments, shapes_of, trace_signature
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.composite_values import Argument
from towerstrat.graph.ir.context_stacks import TRACE_CONTEXTS
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.state import layouts
from towerstrat.graph.ir.type_specs import TensorSpec
from towerstrat.graph.ir.types import DType
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.platform import logs

_RECENT_CALLS = 10
_MANY_TRACES = 5
"""Number of recent calls that may trace before a warning is logged."""

_Key = tuple[Hashable, Hashable]
"""(surroundings, arguments) of a trace."""


class _Variant:
    """Calls whose arguments differ only in the sizes of tensors, and the one relaxed trace that serves them."""

    def __init__(self, shapes: list[Dims]):
        self.shapes = shapes
        self.function: ConcreteFunction | None = None


class Function:
    """A traced function: callable like the Python function, which runs only while it is traced.

    There is one trace per key: tensors count by dtype and shape, Python values by type and value.

    Args:
      input_signature: a ``TensorSpec`` for each argument, or None.
      autograph: whether control flow over tensors is converted.
      relax: whether a second shape makes one trace for all sizes.
      always: whether it is traced even after ``run_functions_eagerly(True)``.
      shares_collections: as of ``FunctionGraph``.
    """

    def __init__(
        self, function: Callable[..., Any], name: str, input_signature: Iterable[object] | None = None,
        autograph: bool = True, relax: bool = False, always: bool = False, shares_collections: bool = False,
    ):  # fmt: skip
        self._shares_collections = shares_collections
        self._always = always
        self._function = function
        self._name = name
        self._input_signature = check_signature(input_signature)
        self._autograph = autograph
        self._relax = relax
        self._cache: dict[Hashable, ConcreteFunction] = {}
        self._variants: dict[Hashable, _Variant] = {}
        self._kept: list[object] = []
        """Objects whose ``id`` is in a key, kept alive so that no other object gets it."""
        self._bound: dict[int, tuple[object, Function]] = {}
        """For methods: ``id(instance)`` -> (weak reference to the instance, its own function)."""
        self._recent: deque[str] = deque(maxlen=_RECENT_CALLS)
        self._traces = 0
        self._variables_made = False
        self._said = False
        self._late = False
        self._signature = inspect.signature(function)
        self._positional = all(
            p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in self._signature.parameters.values()
        )
        self._arity = len(self._signature.parameters)
        functools.update_wrapper(self, function)

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def body(self) -> Callable[..., Any]:
        """The Python function to trace, with its control flow converted if ``autograph`` is set."""
        return converted(self._function) if self._autograph else self._function

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._function

    @property
    def input_signature(self) -> tuple[object, ...] | None:
        return self._input_signature

    @property
    def function_spec(self) -> inspect.Signature:
        return self._signature

    @property
    def _concrete_variable_creation_fn(self) -> ConcreteFunction | None:
        """The first trace, whose graph Keras' TensorBoard callback writes; None where there is none yet."""
        return next(iter(self._cache.values()), None)

    def experimental_get_tracing_count(self) -> int:
        """The number of traces so far."""
        return self._traces

    def __get__(self, instance: object, owner: type | None = None) -> Function | Bound:
        if instance is None:
            return self
        entry = self._bound.get(id(instance))
        if entry is None:
            entry = self._bind(instance)
            self._bound[id(instance)] = entry
        return Bound(entry[1], instance)

    def _bind(self, instance: object) -> tuple[object, Function]:
        # The bound function lives as long as its instance, so it must not keep the instance alive.
        function: Any = self._function
        bound, key = self._bound, id(instance)
        try:
            reference: Any = weakref.ref(instance, lambda _: bound.pop(key, None))
            method: Any = WeakMethod(function, reference)
        except TypeError:
            # Without weak references the instance is kept alive, so that no other object gets its id.
            reference, method = instance, types.MethodType(function, instance)
        return reference, Function(
            method, self._name, self._input_signature, self._autograph, self._relax,
            shares_collections=self._shares_collections,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<tf.function {self._name}>"

    # ---- calling ---------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if functions_run_eagerly() and not self._always:
            return self._function(*args, **kwargs)
        if kwargs or not self._positional or len(args) != self._arity:
            args = self._canonical(args, kwargs)
        if self._input_signature is not None:
            args = fit_arguments(args, self._input_signature, self._signature, self._name)
        retained: list[object] = []
        key = (_surroundings(), tuple([arguments.key_of(a, retained) for a in args]))
        try:
            concrete = self._cache.get(key)
        except TypeError as error:
            raise TypeError(f"An argument of {self._name} cannot be hashed: {error}") from None
        if concrete is None:
            # A trace that captures tensors of the current graph is kept under that graph.
            concrete = self._cache.get((get_default_graph(), key[1])) or self._add_trace(key, args)
            self._kept += retained
        elif self._recent:
            self._recent.append("")
        return concrete.call(arguments.tensors_of(args), self._late)

    @contextmanager
    def late(self) -> Iterator[None]:
        """Context in which a failed check of an eager call may raise late, so that the next call can begin.

        It is raised where a result of the call or the state is read, in the next call, or at the end of this block.
        """
        before, self._late = self._late, True
        try:
            yield
        finally:
            self._late = before
            context().session.raise_late_errors()

    def _canonical(self, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Any, ...]:
        """One value per parameter, defaults filled in: a tuple for ``*args``, a dict for ``**kwargs``."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _spread(self, args: Sequence[Any]) -> tuple[list[object], dict[str, object]]:
        """The inverse of ``_canonical``: (positional, keyword) arguments."""
        positional: list[object] = []
        named: dict[str, object] = {}
        for value, parameter in zip(args, self._signature.parameters.values(), strict=True):
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                named.update(value)
            elif parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = value
            else:
                positional.append(value)
        return positional, named

    # ---- tracing ---------------------------------------------------------------------------------------------

    def _add_trace(self, key: _Key, args: tuple[object, ...]) -> ConcreteFunction:
        """Make the trace for arguments whose key is not in the cache, or find a relaxed one; enter it."""
        shapes: list[Dims] | None = None
        tensors = arguments.tensors_of(args)
        if self._input_signature is not None:
            shapes = shapes_of(self._input_signature)
            key = (key[0], "signature")
            if key in self._cache:
                return self._cache[key]
        elif self._relax and tensors:
            kind = _without_shapes(key)
            here = [t.dims for t in tensors]
            variant = self._variants.get(kind)
            if variant is None:
                self._variants[kind] = _Variant(here)
            else:
                shapes = arguments.relax(variant.shapes, here) or here
                if variant.function is None or shapes != variant.shapes:
                    variant.shapes = shapes
                    variant.function = self._trace(args, shapes)
                self._cache[key] = variant.function
                return variant.function
        self._notice(args)
        concrete = self._trace(args, shapes)
        if not concrete.graph.stands_alone:
            # It captures tensors of the function around it, so it can be called there only.
            key = (get_default_graph(), key[1])
        self._cache[key] = concrete
        return concrete

    def _notice(self, args: Sequence[object]) -> None:
        """Log a warning, once, when many of the recent calls traced."""
        self._recent.append(_describe_arguments(args))
        traced = [r for r in self._recent if r]
        if len(traced) > _MANY_TRACES and not self._said:
            self._said = True
            logs.warning(
                "%d of the last %d calls to %s (at %s) traced it again, which is slow. Two calls that did: %s and %s. "
                "Python numbers and new shapes count: pass tf.constant(n) for a number that changes, give the "
                "function an input_signature or reduce_retracing=True for shapes, and make it once, outside of loops.",
                len(traced), len(self._recent), self._name, user_line(), traced[-2], traced[-1],
            )  # fmt: skip

    def _trace(self, args: tuple[object, ...], shapes: Sequence[Dims] | None) -> ConcreteFunction:
        """Call the Python function with placeholders, in a graph of its own.

        Args:
          args: one structure per parameter, in the order of the signature.
          shapes: of the placeholders, where they are less specific than those of the tensors in ``args``.
        """
        outer = get_default_graph()
        graph = FunctionGraph(outer, self._name, self._shares_collections)
        graph.creates = not self._variables_made and not self._traces
        graph.axis = outer.axis
        self._traces += 1
        function = self.body
        with graph.as_default():
            symbolic, inputs = arguments.stand_ins(graph, args, self._signature.parameters, shapes)
            positional, named = self._spread(symbolic)
            try:
                value = function(*positional, **named)
            except BaseException:
                self._traces -= 1
                raise
            value = nest.map_structure(functools.partial(as_result, name=self._name), value)
            self._variables_made |= bool(graph.variables)
            graph.check_variables_kept()
            signature = trace_signature(self._signature, symbolic, inputs)
            return ConcreteFunction(self._name, graph, signature, inputs, value)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for such arguments, made if need be. A ``TensorSpec`` may stand for a tensor.

        Raises:
          TypeError: the arguments do not fit the input signature.
        """
        if self._input_signature is not None and not args and not kwargs:
            bound: tuple[object, ...] = self._input_signature
            defaults = [p.default for p in self._signature.parameters.values()][len(bound) :]
            bound = (*bound, *(r for r in defaults if r is not inspect.Parameter.empty))
        else:
            bound = self._canonical(args, kwargs)
            if self._input_signature is not None and not any(
                isinstance(a, TensorSpec) for a in nest.flatten(list(bound))
            ):
                bound = fit_arguments(bound, self._input_signature, self._signature, self._name)
        key: _Key = (_surroundings(), tuple([arguments.key_of(a, self._kept) for a in bound]))
        if self._input_signature is not None:
            key = (key[0], "signature")
        if key not in self._cache:
            self._cache[key] = self._trace(bound, None)
        return self._cache[key]


def _surroundings() -> Hashable:
    """Key of all that a trace depends on besides its arguments: surrounding graph, ``TraceContext``, replica.

    It also counts the variables that became varying: traces from before such a change are void.
    """
    current = get_default_graph()
    graph = current.home
    around = TRACE_CONTEXTS.current()
    key = None if around is None else around.trace_key()
    axis_index = current.running_index if current.trace is None else current.trace.place
    return None if graph.executing_eagerly else graph, layouts.count, key, axis_index


def _without_shapes(key: object) -> object:
    """A key with ranks in the place of tensors' shapes; what an ``Argument`` adds to its own key stays."""
    if not isinstance(key, tuple) or not key:
        return key
    first = key[0]
    if isinstance(first, DType):
        return (first, None if key[1] is None else len(key[1]))
    if isinstance(first, type) and issubclass(first, Argument):
        return (*key[:2], *(_without_shapes(k) for k in key[2:]))
    return tuple([_without_shapes(k) for k in key])


def _describe_arguments(args: Sequence[object]) -> str:
    """Arguments as a log message shows them."""
    shown = []
    for value in nest.flatten(list(args)):
        if isinstance(value, Tensor):
            shown.append(f"{value.dtype.name}{value.shape}")
        else:
            shown.append(repr(value)[:40])
    return f"({', '.join(shown)})"


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Iterable[object] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Feature | Iterable[Feature] | None = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Trace a Python function to a graph that is compiled; the result is called like the function.

    Args:
      func: the function; without it, a decorator is returned.
      input_signature: a ``TensorSpec`` for each argument: there is one trace, and other arguments are refused.
      autograph: convert ``if``, ``while``, ``for`` and ``and``, ``or``, ``not`` over tensors.
      jit_compile: changes nothing: everything is compiled.
      reduce_retracing: a second shape makes one trace for all sizes.
      experimental_implements: a name for other runtimes; recorded nowhere.
      experimental_autograph_options: features of the conversion; all are on.
      experimental_attributes: names for other runtimes. One that says "GPU" as ``api_preferred_device`` makes an
        implementation for that device alone of what another function does: it is not traced before it is called.
      experimental_relax_shapes: old name of ``reduce_retracing``.
      experimental_compile: old name of ``jit_compile``.
      experimental_follow_type_hints: arguments annotated as tensors are converted; they are traced by value otherwise.

    Raises (when it is called):
      ValueError: variables are made in a later call than the first.
      TypeError: arguments that do not fit the input signature, or results that are no tensors.

    >>> from towerstrat.graph.eager import mode
    >>> from towerstrat.graph.ir.tensor_conversion import constant
    >>> with mode.eager_mode():
    ...     int(function(lambda x: x * x)(constant(3)))
    9
    """

    relax = bool(experimental_relax_shapes) or reduce_retracing
    for_one = (experimental_attributes or {}).get("api_preferred_device") == "GPU"
    kind = ForOneDevice if for_one else Function
    decorate = functools.partial(_create, kind, input_signature=input_signature, autograph=autograph, relax=relax)
    return decorate if func is None else decorate(func)


class Registered:
    """Stand-in for a trace that TensorFlow registers as an alternative implementation, and nothing calls."""

    def add_to_graph(self, g: Graph | None = None) -> None:
        """Graphs get functions where they are called."""

    def add_gradient_functions_to_graph(self, g: Graph | None = None) -> None:
        """Graphs get gradients where they are taken."""


class ForOneDevice(Function):
    """An alternative implementation of another function for one kind of device.

    TensorFlow may exchange them when it optimizes a graph. Here XLA compiles one function for every device.
    """

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """A trace that can be registered; none is made."""
        return Registered()


def defun(
    func: Callable[..., Any] | None = None, input_signature: Iterable[object] | None = None, autograph: bool = True,
    experimental_autograph_options: Feature | Iterable[Feature] | None = None,
    experimental_relax_shapes: bool = False,
) -> Any:  # fmt: skip
    """``tf.function`` as 1.12 to 1.15 had it: collections are those of the graph around. Arguments as there."""
    decorate = functools.partial(
        _create, Function, input_signature=input_signature, autograph=autograph, relax=experimental_relax_shapes,
        shares_collections=True,
    )  # fmt: skip
    return decorate if func is None else decorate(func)


def _create(kind: type[Function], inner: Callable[..., Any], **options: Any) -> Function:
    """A ``Function`` of class ``kind``, named after the function that it traces."""
    name = getattr(inner, "__name__", type(inner).__name__).strip("<>")
    return kind(inner.python_function if isinstance(inner, Function) else inner, name, **options)
