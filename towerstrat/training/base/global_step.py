"""The global step: how many training steps were made."""

from __future__ import annotations

import logging
from typing import Any

from towerstrat.graph.ir.graph import Graph, default_graph_of, enter, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import int64
from towerstrat.graph.scopes.initializers import zeros_initializer
from towerstrat.graph.scopes.variable_scope import get_variable
from towerstrat.graph.variables.variables import GraphKeys, Variable, VariableAggregation

GLOBAL_STEP_READ_KEY = "global_step_read_op_cache"
"""The collection of the tensor that hooks fetch."""


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The global step's value in a session; eagerly its value, whatever ``sess`` is."""
    if get_default_graph().executing_eagerly:
        return int(global_step_tensor)
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph (default: the default graph), or None if there is none.

    It is what the collection ``GraphKeys.GLOBAL_STEP`` holds, else the tensor named ``global_step:0``.

    Raises:
      TypeError: it is not an integer scalar.
    """
    graph = default_graph_of(graph or get_default_graph())
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        logging.getLogger("tensorflow").error("Multiple tensors in global_step collection.")
        return None
    step = found[0] if found else _named(graph)
    if step is not None:
        assert_global_step(step)
    return step


def _named(graph: Graph) -> Any:
    """The variable or tensor called ``global_step``."""
    for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        if variable.name == "global_step:0":
            return variable
    try:
        return graph.get_tensor_by_name("global_step:0")
    except KeyError:
        return None


def create_global_step(graph: Graph | None = None) -> Any:
    """Makes the global step: an int64 variable that starts at 0 and is not trainable.

    Raises:
      ValueError: there is one already.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with enter(graph), graph.name_scope(None):
        step = get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=zeros_initializer(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_TOWER,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )
    if graph.home.executing_eagerly:
        default_graph_of(graph).add_to_collection(GraphKeys.GLOBAL_STEP, step)
    return step


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step, made if there is none."""
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def get_or_create_global_step_read(graph: Graph | None = None) -> Tensor | None:
    """The global step before the run that fetches it: a tensor of its own, made once; None if there is no step.

    It is read before anything writes the step, wherever in the program the writes were made.

    Raises:
      RuntimeError: the collection ``GLOBAL_STEP_READ_KEY`` has several tensors.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GLOBAL_STEP_READ_KEY)
    if len(found) > 1:
        raise RuntimeError(f"There are multiple items in collection {GLOBAL_STEP_READ_KEY}. There should be only one.")
    if found:
        return found[0]
    step = get_global_step(graph)
    if step is None:
        return None
    writers = _writers(graph, step) if isinstance(step, Variable) else []
    with enter(graph), graph.name_scope(None), graph.name_scope(f"{step.op.name}/"):
        # In the run that initializes the step, too: a program may build its model after this read.
        read: Tensor = (step.initialized_value() if isinstance(step, Variable) else step) + 0
    for writer in writers:
        writer.add_control_inputs([read.op])
    graph.add_to_collection(GLOBAL_STEP_READ_KEY, read)
    return read


def _writers(graph: Graph, step: Variable) -> list[Operation]:
    """The operations that change the step, but for its initializer; those made later come after a read anyway."""
    cell = step.handle.op.attrs["cell"]
    return [op for op in graph.root.ops if cell in op.writes and op is not step.initializer]


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises TypeError unless it is an integer scalar, variable or tensor."""
    step = global_step_tensor
    if not isinstance(step, Tensor) and not hasattr(step, "assign_add"):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {step!r}.')
    if not step.dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {step.dtype.name}.')
    if step.shape.ndims != 0 and step.shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {step.shape}.')
