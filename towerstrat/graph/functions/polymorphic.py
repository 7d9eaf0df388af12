"""``tf.function``: a Python function that is traced once per kind of arguments, and then called as a program."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from absl import logging

from towerstrat.graph import nest


def converted(f: Any) -> Any:
    return f


from towerstrat.graph.convert import convert_to_tensor
from towerstrat.graph.core import Graph, get_default_graph, ground
from towerstrat.graph.elements import Operation, Tensor
from towerstrat.graph.functions import arguments
from towerstrat.graph.functions.concrete import Traced
from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.functions.inline import effects_of
from towerstrat.graph.indexed_slices import IndexedSlices
from towerstrat.graph.ops.regions import parts_of, rebuilt
from towerstrat.graph.shapes import Dims
from towerstrat.graph.specs import TensorSpec
from towerstrat.graph.trace import user_line
from towerstrat.graph.types import as_dtype
from towerstrat.graph.variables import Variable

_RECENT_CALLS = 10
_MANY_TRACES = 5
"""Of the recent calls, how many may trace before that is said."""

EAGERLY = [False]
"""Whether functions are called as they are written, without tracing (``tf.config.run_functions_eagerly``)."""


class ConcreteFunction:
    """One trace of a function: a graph with inputs and outputs.

    Attributes:
      graph: the graph.
      structured_input_signature: (args, kwargs) with a ``TensorSpec`` for each tensor.
      structured_outputs: what it returns, in the structure of the Python function's result.
    """

    def __init__(self, name: str, graph: FunctionGraph, signature: Any, inputs: Sequence[Tensor], value: Any):
        self.name = f"__inference_{name}"
        self.graph = graph
        self.structured_input_signature = signature
        self._value = value
        leaves = nest.flatten(value)
        self._leaves = leaves
        outputs = [t for leaf in leaves if leaf is not None for t in parts_of(leaf)]
        self.structured_outputs = value
        self.traced = Traced(graph, inputs, [graph.inside(t) for t in outputs], effects_of(graph))
        self._single = not nest.is_sequence(value) and isinstance(value, Tensor)

    def call(self, tensors: Sequence[Tensor]) -> Any:
        """The result for the tensors among the arguments, in order."""
        outputs = self.traced(tensors)
        if self._single:
            return outputs[0]
        parts = iter(outputs)
        return nest.pack_sequence_as(
            self._value, [None if leaf is None else rebuilt(leaf, parts) for leaf in self._leaves]
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it with tensors where its signature has tensors; Python values are part of the trace and may be left out.

        Raises:
          TypeError: tensors that do not fit the signature, too few or too many.
        """
        inputs = self.traced.inputs
        specs, keywords = self.structured_input_signature
        given = [a for a in nest.flatten(list(args)) if not _plain(a)]
        named = dict(kwargs)
        if named:
            given += _by_name(named, specs, keywords, len(given))
        if len(given) != len(inputs):
            raise TypeError(
                f"{self.name} takes {len(inputs)} tensors, got {len(given)}. Its signature: "
                f"{self.structured_input_signature}."
            )
        tensors = []
        for value, place in zip(given, inputs, strict=True):
            tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else place.dtype)
            if tensor.dtype is not place.dtype or not arguments.fits(tensor.dims, place.dims):
                raise TypeError(
                    f"{self.name} expects a {place.dtype.name} tensor of shape {place.shape}, got {tensor.dtype.name} of "
                    f"shape {tensor.shape}."
                )
            tensors.append(tensor)
        return self.call(tensors)

    @property
    def inputs(self) -> list[Tensor]:
        return [*self.traced.inputs, *self.graph.captured.values(), *self.graph.handles.values()]

    @property
    def outputs(self) -> list[Tensor]:
        return self.traced.outputs

    @property
    def captured_inputs(self) -> list[Tensor]:
        """What it uses from outside: tensors and variables' handles."""
        return [*self.graph.captured, *self.graph.handles]

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that it uses."""
        found = (self.graph.variable_of(inner) for inner in self.graph.handles.values())
        return tuple([v for v in found if v is not None])

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return tuple([v for v in self.variables if v.trainable])

    @property
    def output_dtypes(self) -> Any:
        return nest.map_structure(lambda t: None if t is None else t.dtype, self._value)

    @property
    def output_shapes(self) -> Any:
        return nest.map_structure(lambda t: None if t is None else t.shape, self._value)

    @property
    def function_def(self) -> Any:
        raise AttributeError("function_def: there is no FunctionDef protocol buffer; .graph has the operations.")

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name}: {self.structured_input_signature}>"


def _plain(value: Any) -> bool:
    return isinstance(value, Variable) or value is None or isinstance(value, str | bool)


def _by_name(named: dict[str, Any], specs: Any, keywords: Mapping[str, Any], start: int) -> list[Any]:
    order = [s.name for s in nest.flatten(list(specs)) if isinstance(s, TensorSpec)][start:]
    order += [k for k in keywords if k not in order]
    unknown = set(named) - set(order)
    if unknown:
        raise TypeError(f"Got unexpected keyword arguments {sorted(unknown)}; the signature has {order}.")
    return [named[k] for k in order if k in named]


class _Variant:
    """The traces of one kind of arguments that differ in shapes only, once they are kept together."""

    def __init__(self, shapes: list[Dims]):
        self.shapes = shapes
        self.function: ConcreteFunction | None = None


class Function:
    """What ``tf.function`` makes of a Python function.

    Each kind of arguments is traced once: tensors count by dtype and shape, Python values by type and value.
    """

    def __init__(
        self, function: Callable[..., Any], name: str, input_signature: Any = None, autograph: bool = True,
        relax: bool = False, reduce: bool = False,
    ):  # fmt: skip
        self._function = function
        self._name = name
        self._input_signature = None if input_signature is None else tuple(input_signature)
        self._autograph = autograph
        self._relax = relax or reduce
        self._cache: dict[Any, ConcreteFunction] = {}
        self._variants: dict[Any, _Variant] = {}
        self._kept: list[Any] = []
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._recent: deque[str] = deque(maxlen=_RECENT_CALLS)
        self._traces = 0
        self._variables_made = False
        self._said = False
        self._signature = inspect.signature(function)
        self._positional = all(
            p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in self._signature.parameters.values()
        )
        self._arity = len(self._signature.parameters)
        self._check_signature()
        functools.update_wrapper(self, function)

    def _check_signature(self) -> None:
        for spec in nest.flatten(self._input_signature or ()):
            if not isinstance(spec, TensorSpec) and not hasattr(spec, "_component_specs"):
                raise TypeError(
                    f"Invalid input_signature {self._input_signature}: it must be a possibly nested sequence of "
                    f"TensorSpec objects, got {spec!r}."
                )

    # ---- what it is ------------------------------------------------------------------------------------------

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._function

    @property
    def input_signature(self) -> Any:
        return self._input_signature

    @property
    def function_spec(self) -> Any:
        return self._signature

    def experimental_get_tracing_count(self) -> int:
        """How often the function was traced."""
        return self._traces

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        try:
            found = self._bound.get(instance)
        except TypeError:
            return self._bind(instance)
        if found is None:
            found = self._bind(instance)
            self._bound[instance] = found
        return _Bound(found, instance)

    def _bind(self, instance: Any) -> Function:
        # The bound function lives as long as its instance, so it must not keep the instance alive.
        function: Any = self._function
        try:
            reference = weakref.ref(instance)
        except TypeError:
            method: Any = types.MethodType(function, instance)
        else:
            method = _WeakMethod(function, reference)
        return Function(method, self._name, self._input_signature, self._autograph, self._relax)

    def __repr__(self) -> str:
        return f"<tf.function {self._name}>"

    # ---- calling ---------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if EAGERLY[0]:
            return self._function(*args, **kwargs)
        if kwargs or not self._positional or len(args) != self._arity:
            args = self._canonical(args, kwargs)
        if self._input_signature is not None:
            args = self._by_signature(args)
        key: Any = (_surroundings(), tuple([arguments.key_of(a, self._kept) for a in args]))
        try:
            found = self._cache.get(key)
        except TypeError as error:
            raise TypeError(f"An argument of {self._name} cannot be hashed: {error}") from None
        if found is None:
            found = self._cache.get((get_default_graph(), key[1])) or self._traced(key, args)
        elif self._recent:
            self._recent.append("")
        return found.call(arguments.tensors_of(args))

    def _canonical(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments by position; what is given by name only, in dictionaries at the end."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _spread(self, args: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as the Python function takes them."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
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

    def _by_signature(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as tensors of the input signature.

        Raises:
          TypeError: they do not fit it.
        """
        wanted = self._input_signature
        assert wanted is not None
        given = [*args]
        if (
            self._signature.parameters
            and list(self._signature.parameters.values())[-1].kind is inspect.Parameter.VAR_POSITIONAL
        ):
            given = [*given[:-1], *given[-1]]
        rest = given[len(wanted) :]
        defaults = [p.default for p in self._signature.parameters.values()][len(wanted) : len(given)]
        if len(given) < len(wanted) or any(r is not d for r, d in zip(rest, defaults, strict=False)):
            raise TypeError(
                f"{self._name} takes {len(wanted)} arguments by its input_signature {wanted}, got {len(given)}: {given!r}."
            )
        result = []
        for value, spec in zip(given, wanted, strict=False):
            result.append(_as_specified(value, spec, self._name))
        return (*result, *rest)

    # ---- tracing ---------------------------------------------------------------------------------------------

    def _traced(self, key: Any, args: tuple[Any, ...]) -> ConcreteFunction:
        shapes: list[Dims] | None = None
        tensors = arguments.tensors_of(args)
        if self._input_signature is not None:
            shapes = [s.shape.raw for s in nest.flatten(self._input_signature) if isinstance(s, TensorSpec)]
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
                shapes = arguments.relaxed(variant.shapes, here) or here
                if variant.function is None or shapes != variant.shapes:
                    variant.shapes = shapes
                    variant.function = self._trace(args, shapes)
                self._cache[key] = variant.function
                return variant.function
        self._notice(args)
        found = self._trace(args, shapes)
        if not found.graph.stands_alone:
            # It uses tensors of the function around it, so it is of use there only.
            key = (get_default_graph(), key[1])
        self._cache[key] = found
        return found

    def _notice(self, args: Sequence[Any]) -> None:
        """Says when calls keep tracing."""
        self._recent.append(_described(args))
        traced = [r for r in self._recent if r]
        if len(traced) > _MANY_TRACES and not self._said:
            self._said = True
            logging.warning(
                "%d of the last %d calls to %s (at %s) traced it again, which is slow. The arguments that differed: %s; then %s. "
                "Python numbers and new shapes count: pass tf.constant(n) for a number that changes, give the function an "
                "input_signature or reduce_retracing=True for shapes, and make it once, outside of loops.",
                len(traced), len(self._recent), self._name, user_line(), traced[-2], traced[-1],
            )  # fmt: skip

    def _trace(self, args: tuple[Any, ...], shapes: Sequence[Dims] | None) -> ConcreteFunction:
        outer = get_default_graph()
        graph = FunctionGraph(outer, self._name)
        graph.creates = not self._variables_made and not self._traces
        graph.axis = outer.axis
        self._traces += 1
        function = converted(self._function) if self._autograph else self._function
        with graph.as_default():
            symbolic, inputs = arguments.stand_ins(graph, list(args), shapes)
            positional, named = self._spread(symbolic)
            try:
                value = function(*positional, **named)
            except BaseException:
                self._traces -= 1
                raise
            value = nest.map_structure(functools.partial(self._result, graph), value)
            self._variables_made |= bool(graph.variables)
            signature = _signature(self._signature, symbolic, inputs)
            return ConcreteFunction(self._name, graph, signature, inputs, value)

    def _result(self, graph: Graph, value: Any) -> Any:
        if value is None or isinstance(value, Operation):
            return None
        if isinstance(value, IndexedSlices) or (not isinstance(value, Tensor) and hasattr(value, "_as_parts")):
            return value
        try:
            parts = parts_of(value)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{self._name} returned {value!r}, which cannot be made a tensor: a tf.function returns tensors, variables, "
                f"numbers, None, and structures of them. {error}"
            ) from None
        return parts[0] if len(parts) == 1 and not _composite(value) else value

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for arguments like these, where a ``TensorSpec`` may stand for a tensor."""
        if self._input_signature is not None and not args and not kwargs:
            given: tuple[Any, ...] = self._input_signature
            rest = [p.default for p in self._signature.parameters.values()][len(given) :]
            given = (*given, *(r for r in rest if r is not inspect.Parameter.empty))
        else:
            given = self._canonical(args, kwargs)
            if self._input_signature is not None and not any(
                isinstance(a, TensorSpec) for a in nest.flatten(list(given))
            ):
                given = self._by_signature(given)
        key: Any = (_surroundings(), tuple([arguments.key_of(a, self._kept) for a in given]))
        if self._input_signature is not None:
            key = (key[0], "signature")
        if key not in self._cache:
            self._cache[key] = self._trace(given, None)
        return self._cache[key]


class _Bound:
    """A function of one instance, which keeps the instance while it is held."""

    def __init__(self, function: Function, instance: Any):
        self._inner = function
        self.__self__ = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _WeakMethod:
    """A method that does not keep its instance alive."""

    def __init__(self, function: Any, reference: Any):
        self.__func__ = function
        self._reference = reference
        functools.update_wrapper(self, function)
        parameters = list(inspect.signature(function).parameters.values())
        self.__signature__ = inspect.signature(function).replace(parameters=parameters[1:])

    @property
    def __self__(self) -> Any:
        return self._reference()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self._reference(), *args, **kwargs)


def _composite(value: Any) -> bool:
    return not isinstance(value, Tensor | Variable) and not arguments.is_array(value) and hasattr(value, "dtype")


def _surroundings() -> Any:
    """What a trace depends on besides its arguments: whether it is traced into a graph, and which."""
    graph = get_default_graph()
    return None if graph.executing_eagerly or ground() is not None else graph


def _without_shapes(key: Any) -> Any:
    if isinstance(key, tuple):
        if len(key) == 2 and hasattr(key[0], "is_integer"):
            return (key[0], None if key[1] is None else len(key[1]))
        return tuple([_without_shapes(k) for k in key])
    return key


def _described(args: Sequence[Any]) -> str:
    shown = []
    for value in nest.flatten(list(args)):
        if isinstance(value, Tensor):
            shown.append(f"{value.dtype.name}{value.shape}")
        else:
            shown.append(repr(value)[:40])
    return f"({', '.join(shown)})"


def _as_specified(value: Any, spec: Any, name: str) -> Any:
    """An argument as tensors of its place in an input signature."""
    if nest.is_sequence(spec):
        try:
            nest.assert_same_structure(spec, value, check_types=False)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Structure of the arguments of {name} does not match its input_signature: {error}"
            ) from None
        parts = [_as_specified(v, s, name) for v, s in zip(nest.flatten(value), nest.flatten(spec), strict=True)]
        return nest.pack_sequence_as(spec, parts)
    if not isinstance(spec, TensorSpec):
        return value
    try:
        tensor = convert_to_tensor(value, None if isinstance(value, Tensor | Variable) else spec.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: expected an argument like {spec}, got {value!r}. {error}") from None
    if tensor.dtype is not as_dtype(spec.dtype) or not arguments.fits(tensor.dims, spec.shape.raw):
        raise TypeError(
            f"{name}: expected an argument like {spec}, got a {tensor.dtype.name} tensor of shape {tensor.shape}."
        )
    return tensor


def _signature(signature: inspect.Signature, symbolic: Sequence[Any], inputs: Sequence[Tensor]) -> Any:
    """(args, kwargs) of a trace with a specification for each tensor, named as its parameter."""
    own = set(inputs)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for value, parameter in zip(symbolic, signature.parameters.values(), strict=True):

        def spec(leaf: Any, name: str = parameter.name) -> Any:
            if isinstance(leaf, Tensor) and leaf in own:
                return TensorSpec(leaf.shape, leaf.dtype, name)
            return leaf

        found = nest.map_structure(spec, value)
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += found
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(found)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = found
        else:
            positional.append(found)
    return tuple(positional), named


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Makes a Python function a program: traced to a graph, compiled, and called like the function.

    Args:
      func: the function; without it, a decorator is returned.
      input_signature: a ``TensorSpec`` for each argument: traced once, and called with nothing else.
      autograph: convert ``if``, ``while``, ``for`` and ``and``, ``or``, ``not`` over tensors.
      jit_compile, experimental_compile: True or None; everything is compiled.
      reduce_retracing, experimental_relax_shapes: a second shape makes a trace for any size.
      experimental_implements, experimental_attributes: names for other runtimes; recorded nowhere.
      experimental_autograph_options: features of the conversion; all are on.
      experimental_follow_type_hints: arguments annotated as tensors are converted; they are traced by value otherwise.

    Raises (when it is called):
      ValueError: variables are made in a later call than the first.
      TypeError: arguments that do not fit the input signature, or results that are no tensors.

    >>> from towerstrat.graph import mode
    >>> with mode.eager_mode():
    ...     square = function(lambda x: x * x)
    ...     int(square(convert_to_tensor(3)))
    9
    """

    def decorate(inner: Callable[..., Any]) -> Function:
        name = getattr(inner, "__name__", type(inner).__name__).strip("<>")
        if isinstance(inner, Function):
            inner = inner.python_function
        return Function(inner, name, input_signature, autograph, bool(experimental_relax_shapes), reduce_retracing)

    return decorate if func is None else decorate(func)
