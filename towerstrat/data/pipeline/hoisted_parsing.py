"""What a function of elements does first, and numpy does as well for many elements at once: parsing their strings.

``map(parse_single_example)`` before ``batch`` is how most programs read records. Its operations that parse take the
elements of a batch together; the rest of the function follows, element by element or as rows of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from towerstrat.data.elements.types import Array
from towerstrat.data.parsing.csv_fields import decode
from towerstrat.data.parsing.examples import of_one_shape, single_examples
from towerstrat.data.pipeline.nodes import IteratorContext
from towerstrat.errors import InvalidArgumentError
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import host_array
from towerstrat.graph.ops.text.string_kernels import decode_raw


class Form(NamedTuple):
    """How an operation type is evaluated for many elements.

    Attributes:
      of_rows: a column of its first input, its other inputs -> columns of its outputs.
      applies: whether the outputs of an operation may have one shape for many elements. Where they have not, after
        all, ``of_rows`` raises ValueError.
    """

    of_rows: Callable[..., Sequence[Array] | Array]
    applies: Callable[[Operation], bool]


FORMS: Mapping[str, Form] = {
    "ParseSingleExample": Form(single_examples, of_one_shape),
    "DecodeCSV": Form(decode, lambda op: True),
    "DecodeRaw": Form(decode_raw, lambda op: True),
}


def leading(order: Sequence[Operation], inputs: Container[Tensor]) -> tuple[list[Operation], dict[Tensor, Array]]:
    """The operations among some that are evaluated for many elements at once, and the constants that they take.

    Args:
      order: the operations of a function, in order. inputs: of the function.
    """
    found: list[Operation] = []
    constants: dict[Tensor, Array] = {}
    for op in order:
        form = FORMS.get(op.type)
        if form is None or op.control_inputs or not form.applies(op):
            continue
        if op.inputs[0] not in inputs and op.inputs[0].op not in found:
            continue
        values = {t: constant_value(t) for t in op.inputs[1:]}
        known = {t: value for t, value in values.items() if value is not None}
        if len(known) == len(values):
            found.append(op)
            constants.update(known)
    return found, constants


class HoistedParsing:
    """Operations that are evaluated for many elements at once, as a function of the inputs of the function.

    It has the methods of a ``Function`` that pulls use; it draws nothing.

    Args:
      ops: in order; their inputs are among ``inputs`` and ``constants``.
      inputs, outputs: tensors.
      constants: the values of constants.
    """

    def __init__(
        self, ops: Sequence[Operation], inputs: Sequence[Tensor], outputs: Sequence[Tensor],
        constants: Mapping[Tensor, Array],
    ):  # fmt: skip
        self.ops = ops
        self.inputs = inputs
        self.outputs = outputs
        self.constants = constants

    def draw_counter(self, opening: IteratorContext) -> Callable[[int], int]:
        return lambda count: 0

    def bind(self, opening: IteratorContext) -> Callable[[Sequence[Array]], list[Array]]:
        """The function of one element."""
        return lambda element: self._evaluated(element, self._one)

    def bind_rows(
        self, opening: IteratorContext, forms: Sequence[Array]
    ) -> Callable[[Sequence[Array], Array], list[Array]] | None:
        """The function of columns of elements."""
        return lambda columns, places: self._evaluated(columns, self._many)

    def _evaluated(
        self, given: Sequence[Array], evaluate: Callable[[Operation, Sequence[Array]], Sequence[Array] | Array]
    ) -> list[Array]:
        """Raises InvalidArgumentError where a form raises ValueError."""
        values = {**self.constants, **dict(zip(self.inputs, given, strict=True))}
        for op in self.ops:
            try:
                results = evaluate(op, [values[t] for t in op.inputs])
            except ValueError as error:
                raise InvalidArgumentError(None, op, str(error)) from error
            results = [results] if isinstance(results, np.ndarray) else results
            values.update((t, host_array(v, t.dtype.np)) for t, v in zip(op.outputs, results, strict=True))
        return [values[t] for t in self.outputs]

    @staticmethod
    def _one(op: Operation, inputs: Sequence[Array]) -> Sequence[Array] | Array:
        assert op.definition.numpy is not None
        return op.definition.numpy(*inputs, **op.arguments)

    @staticmethod
    def _many(op: Operation, inputs: Sequence[Array]) -> Sequence[Array] | Array:
        return FORMS[op.type].of_rows(*inputs, **op.arguments)
