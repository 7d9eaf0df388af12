"""Input signatures of ``tf.function``: check them, convert arguments to them, and describe those of a trace.

A signature has a ``TensorSpec``, or the spec of a composite value, per argument, nested as the arguments are. With one
there is a single trace; ``fit_arguments`` converts a call's arguments to it or raises TypeError. Parameters after the
signature must have their defaults.

>>> from towerstrat.graph.ir.types import float32
>>> shapes_of([TensorSpec([None, 3], float32), {"b": TensorSpec([], float32)}])
[(None, 3), ()]
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from towerstrat.graph.functions import arguments
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.type_specs import TensorSpec
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.variables.variables import Variable

InputSignature = tuple[tuple[object, ...], dict[str, object]]
"""(args, kwargs) of a trace with a ``TensorSpec`` for each tensor."""


def check_signature(signature: Iterable[object] | None) -> tuple[object, ...] | None:
    """An input signature as a tuple; None stays None.

    Raises:
      TypeError: a leaf is no specification.
    """
    if signature is None:
        return None
    for spec in nest.flatten(list(signature)):
        if not isinstance(spec, TensorSpec) and not hasattr(spec, "_component_specs"):
            raise TypeError(
                f"Invalid input_signature {signature}: it must be a possibly nested sequence of TensorSpec objects, "
                f"got {spec!r}."
            )
    return tuple(signature)


def fit_arguments(
    args: tuple[Any, ...], input_signature: tuple[object, ...], signature: inspect.Signature, name: str
) -> tuple[object, ...]:
    """Convert arguments to the tensors of an input signature.

    Args:
      args: one per parameter; a tuple for ``*args``.
      input_signature: the input signature. Parameters after it must have their defaults.
      signature: of the Python function.
      name: of the function, for messages.

    Raises:
      TypeError: there are too few or too many arguments, or one does not fit.
    """
    parameters = list(signature.parameters.values())
    spread = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL
    values: list[object] = [*args[:-1], *args[-1]] if spread else list(args)
    extra = values[len(input_signature) :]
    defaults = [] if spread else [p.default for p in parameters[len(input_signature) :]]
    if len(values) < len(input_signature) or len(extra) > len(defaults) or any(
        r is not d for r, d in zip(extra, defaults, strict=False)
    ):  # fmt: skip
        raise TypeError(
            f"{name} takes {len(input_signature)} arguments by its input_signature {input_signature}, got {values!r}."
        )
    fitting = [_as_specified(value, spec, name) for value, spec in zip(values, input_signature, strict=False)] + extra
    if not spread:
        return tuple(fitting)
    fixed = len(parameters) - 1
    return (*fitting[:fixed], tuple(fitting[fixed:]))


def shapes_of(signature: object) -> list[Dims]:
    """The shapes of an input signature's tensors, in order."""
    shapes: list[Dims] = []
    for spec in nest.flatten(signature):
        if isinstance(spec, TensorSpec):
            shapes.append(spec.shape.raw)
        elif hasattr(spec, "_component_specs"):
            parts = spec._component_specs
            shapes += shapes_of([parts] if isinstance(parts, TensorSpec) else list(parts))
    return shapes


def _as_specified(value: Any, spec: Any, name: str) -> object:
    """One argument, converted to its entry of an input signature. Raises TypeError where it does not fit."""
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
        if not spec.is_compatible_with(value):
            raise TypeError(f"{name}: expected an argument like {spec}, got {value!r}.")
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


def trace_signature(
    signature: inspect.Signature, symbolic: Sequence[object], inputs: Sequence[Tensor]
) -> InputSignature:
    """The signature of a trace, each ``TensorSpec`` named after its parameter.

    Args:
      signature: of the Python function.
      symbolic: the arguments of the trace, one per parameter.
      inputs: the placeholders among them.
    """
    placeholders = set(inputs)
    positional: list[object] = []
    named: dict[str, object] = {}
    for value, parameter in zip(symbolic, signature.parameters.values(), strict=True):

        def spec(leaf: object, name: str = parameter.name) -> object:
            if isinstance(leaf, Tensor) and leaf in placeholders:
                return TensorSpec(leaf.shape, leaf.dtype, name)
            return leaf

        specs = nest.map_structure(spec, value)
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += specs
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(specs)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = specs
        else:
            positional.append(specs)
    return tuple(positional), named
