"""One trace of a function, as programs see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from towerstrat.graph.functions import arguments
from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.functions.traced import Traced
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.convert import convert_to_tensor
from towerstrat.graph.ir.elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.specs import TensorSpec
from towerstrat.graph.ops.regions import is_composite, parts_of, rebuilt
from towerstrat.graph.variables.variables import Variable


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
        self.traced = Traced(graph, inputs, [graph.inside(t) for t in outputs], graph.effects())
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
        """Calls it with tensors where its signature has some; Python values are part of the trace and may be left out.

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
                    f"{self.name} expects a {place.dtype.name} tensor of shape {place.shape}, got {tensor.dtype.name} "
                    f"of shape {tensor.shape}."
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


def as_result(value: Any, name: str) -> Any:
    """A leaf of what a function returned, as a tensor, something of tensors, or None.

    Raises:
      TypeError: it cannot be one.
    """
    if value is None or isinstance(value, Operation):
        return None
    if isinstance(value, IndexedSlices):
        return value
    try:
        parts = parts_of(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} returned {value!r}, which cannot be made a tensor: a tf.function returns tensors, variables, "
            f"numbers, None, and structures of them. {error}"
        ) from None
    return parts[0] if len(parts) == 1 and not _composite(value) else value


def _composite(value: Any) -> bool:
    if is_composite(value):
        return True
    return not isinstance(value, Tensor | Variable) and not arguments.is_array(value) and hasattr(value, "dtype")
