"""``ConcreteFunction``: one trace of a ``tf.function`` as programs see it, with structured arguments and results.

``Traced`` below it is flat: tensors in, tensors out. This class packs the outputs into the Python function's result
structure, in which composite values (``IndexedSlices``, ``TensorArray``) are several tensors and None is none:

>>> from towerstrat.graph.functions.polymorphic import function
>>> from towerstrat.graph.ir.types import float32
>>> @function
... def halves(x):
...     return {"rows": IndexedSlices(x / 2.0, convert_to_tensor([0, 2])), "note": None}
>>> trace = halves.get_concrete_function(TensorSpec([2], float32))
>>> trace.output_dtypes["note"], [t.dtype.name for t in trace.outputs]
(None, ['float32', 'int32'])

A direct call takes one tensor per ``TensorSpec`` of the signature; Python values are part of the trace, not arguments.
Variables, text, bools and None may be given again, and are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from towerstrat.graph.functions import arguments
from towerstrat.graph.functions.graph import FunctionGraph
from towerstrat.graph.functions.signature import InputSignature
from towerstrat.graph.functions.traced import Traced
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.type_specs import TensorSpec
from towerstrat.graph.ops.control.regions import is_composite, parts_of, rebuilt
from towerstrat.graph.variables.variables import Variable


class ConcreteFunction:
    """One trace of a function: a graph with inputs and outputs.

    Args:
      inputs: the placeholders of the arguments' tensors, in order.
      value: the result of the trace: a structure of tensors of ``graph``, composites and None.

    Attributes:
      graph: the graph that was traced.
      structured_input_signature: (args, kwargs) with a ``TensorSpec`` for each tensor.
      structured_outputs: ``value``.
    """

    def __init__(
        self, name: str, graph: FunctionGraph, signature: InputSignature, inputs: Sequence[Tensor], value: object
    ):
        self.name = f"__inference_{name}"
        self.graph = graph
        self.structured_input_signature = signature
        self._value = value
        leaves = nest.flatten(value)
        self._leaves = leaves
        outputs = [t for leaf in leaves if leaf is not None for t in parts_of(leaf)]
        self.structured_outputs = value
        self.traced = Traced(graph, inputs, [graph.own(t) for t in outputs], graph.effects())
        self._single = not nest.is_sequence(value) and isinstance(value, Tensor)

    def call(self, tensors: Sequence[Tensor], late: bool = False) -> Any:
        """Run the trace on the tensors of its arguments, in order; pack the result like the Python function's.

        Args:
          tensors: one per placeholder of the trace, from the current graph or eager.
          late: see ``Function.late``.
        """
        outputs = self.traced(tensors, late)
        if self._single:
            return outputs[0]
        parts = iter(outputs)
        return nest.packed(self._value, (None if leaf is None else rebuilt(leaf, parts) for leaf in self._leaves))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the trace with a tensor for each ``TensorSpec`` of its signature.

        Python values of the signature are part of the trace and may be left out.

        Raises:
          TypeError: too few or too many tensors, or one that does not fit the signature.
        """
        inputs = self.traced.inputs
        specs, keywords = self.structured_input_signature
        values = [a for a in nest.flatten(list(args)) if not _plain(a)]
        named = dict(kwargs)
        if named:
            values += _by_name(named, specs, keywords, len(values))
        if len(values) != len(inputs):
            raise TypeError(
                f"{self.name} takes {len(inputs)} tensors, got {len(values)}. Its signature: "
                f"{self.structured_input_signature}."
            )
        tensors = []
        for value, parameter in zip(values, inputs, strict=True):
            tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else parameter.dtype)
            if tensor.dtype is not parameter.dtype or not arguments.fits(tensor.dims, parameter.dims):
                raise TypeError(
                    f"{self.name} expects a {parameter.dtype.name} tensor of shape {parameter.shape}, got "
                    f"{tensor.dtype.name} of shape {tensor.shape}."
                )
            tensors.append(tensor)
        return self.call(tensors)

    @property
    def inputs(self) -> list[Tensor]:
        return [*self.traced.inputs, *self.graph.captured.values(), *self.graph.handles.values()]

    @property
    def outputs(self) -> list[Tensor]:
        return list(self.traced.outputs)

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors and variables' handles from outside that it uses."""
        return [*self.graph.captured, *self.graph.handles]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it reads or writes, in the order of first use."""
        variables = (self.graph.variable_of(inner) for inner in self.graph.handles.values())
        return tuple([v for v in variables if v is not None])

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple([v for v in self.variables if v.trainable])

    @property
    def output_dtypes(self) -> Any:
        return nest.map_structure(lambda t: None if t is None else t.dtype, self._value)

    @property
    def output_shapes(self) -> Any:
        return nest.map_structure(lambda t: None if t is None else t.shape, self._value)

    @property
    def function_def(self) -> NoReturn:
        raise AttributeError("function_def: there is no FunctionDef protocol buffer; .graph has the operations.")

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name}: {self.structured_input_signature}>"


def _plain(value: object) -> bool:
    """Whether an argument is a constant of the trace, without an input of the graph."""
    return isinstance(value, Variable) or value is None or isinstance(value, str | bool)


def _by_name(
    named: Mapping[str, object], specs: Sequence[object], keywords: Mapping[str, object], start: int
) -> list[object]:
    """Keyword arguments in the order of the signature's tensors from the ``start``-th on."""
    order = [s.name for s in nest.flatten(list(specs)) if isinstance(s, TensorSpec)][start:]
    order += [k for k in keywords if k not in order]
    unknown = set(named) - set(order)
    if unknown:
        raise TypeError(f"Got unexpected keyword arguments {sorted(unknown)}; the signature has {order}.")
    return [named[k] for k in order if k is not None and k in named]


def as_result(value: object, name: str) -> object:
    """Convert one leaf of a Python function's result.

    Args:
      value: a leaf of the structure that the function returned.
      name: the function's, for the message.

    Returns:
      A tensor, a composite value (``IndexedSlices``, a ``TensorArray``, ...), or None for None and operations.

    Raises:
      TypeError: the value cannot be converted.
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


def _composite(value: object) -> bool:
    """Whether a value that consists of one tensor is returned as itself, not as that tensor."""
    if is_composite(value):
        return True
    return not isinstance(value, Tensor | Variable) and not arguments.is_array(value) and hasattr(value, "dtype")
