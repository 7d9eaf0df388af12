"""A whole dataset as one value of the graph: reductions, and the only element."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towerstrat.data.elements.structure import Structure, flatten, in_parts, map_leaves
from towerstrat.data.elements.types import Array
from towerstrat.data.iterators.session_iterators import with_operation
from towerstrat.data.pipeline.dataset_variants import opening_of
from towerstrat.data.pipeline.element_functions import Function
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.errors import InvalidArgumentError, OutOfRangeError
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.op_registry import Signature, define_op
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import int64
from towerstrat.graph.runtime.plans.runner import Runner


def _components(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[Signature]:
    structure = attrs["structure"]
    return [Signature(t, d) for t, d in zip(structure.dtypes, structure.dims, strict=True)]


def _reduce(session: Runner, op: Operation, values: Sequence[Any]) -> Sequence[Array]:
    node, function, count = op.attrs["node"], op.attrs["function"], len(op.attrs["structure"])
    opening = opening_of(session, op, node, values[count:], function.captures)
    state = list(values[:count])
    try:
        call = function.bind(opening)
        for element in node.open(opening):
            state = call([*state, *element])
    except Exception as error:
        raise with_operation(error, op) from error.__cause__
    return state


def _only(session: Runner, op: Operation, values: Sequence[Any]) -> Sequence[Array]:
    try:
        node = op.attrs["node"]
        elements = iter(node.open(opening_of(session, op, node, values)))
        for element in elements:
            for _ in elements:
                raise InvalidArgumentError(None, op, "Dataset had more than one element.")
            return element
    except Exception as error:
        raise with_operation(error, op) from error.__cause__
    raise InvalidArgumentError(None, op, "Dataset was empty.")


def _at(session: Runner, op: Operation, values: Sequence[Any]) -> Sequence[Array]:
    index, *given = values
    try:
        node = op.attrs["node"]
        elements = node.open(opening_of(session, op, node, given))
        if index >= 0:
            for element in itertools.islice(elements, int(index), None):
                return element
    except Exception as error:
        raise with_operation(error, op) from error.__cause__
    raise OutOfRangeError(None, op, f"Index out of range: there is no element {int(index)} in the dataset.")


_HIDDEN = ("node", "function", "structure")
define_op("GetElementAtIndex", _components, host=_at, stateful=True, differentiable=False, hidden=_HIDDEN)
define_op("ReduceDataset", _components, host=_reduce, stateful=True, differentiable=False, hidden=_HIDDEN)
define_op("DatasetToSingleElement", _components, host=_only, stateful=True, differentiable=False, hidden=_HIDDEN)


def reduced(node: DatasetNode, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
    """``reduce_func(state, element)`` along the elements of a pipeline: tensors of the last state.

    Raises:
      TypeError: the function returns a state of another structure, type or shape.
    """
    state = map_leaves(convert_to_tensor, in_parts(initial_state))
    before = Structure.of_tensors(state)
    graph = get_default_graph()
    function = Function(reduce_func, [before, node.structure], "Dataset.reduce", graph)
    before.check_types(function.structure, "a new state")
    relaxed = before.relaxed(function.structure)
    if relaxed.dims != before.dims:
        before = relaxed
        function = Function(reduce_func, [before, node.structure], "Dataset.reduce", graph)
    inputs = [*flatten(state), *dict.fromkeys([*node.inputs(), *function.captures])]
    attrs = {"node": node, "function": function, "structure": before}
    return before.values(graph.add("ReduceDataset", inputs, attrs).outputs)


def only_element(node: DatasetNode) -> Any:
    """The only element of a pipeline, as tensors."""
    attrs = {"node": node, "structure": node.structure}
    return node.structure.values(get_default_graph().add("DatasetToSingleElement", node.inputs(), attrs).outputs)


def element_at(node: DatasetNode, index: Any) -> Any:
    """The element with a number, from 0, as tensors. The elements before it are made too."""
    attrs = {"node": node, "structure": node.structure}
    inputs = [convert_to_tensor(index, int64), *node.inputs()]
    return node.structure.values(get_default_graph().add("GetElementAtIndex", inputs, attrs).outputs)
