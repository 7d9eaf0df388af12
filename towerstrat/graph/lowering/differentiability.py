"""Differentiable dependence: the steps from a tensor back to those that its gradient flows to.

A gradient flows from an output to those inputs of its operation that ``sources_of`` names, if the operation is
differentiable (``passes_gradient``) and the inputs are floating, complex or handles of variables
(``carries_gradient``). Everything that walks a graph for a gradient takes these steps: the paths of ``tf.gradients``,
the regions of branches and loops (``differentiable_leaves``: which captures have a cotangent at all), the tape.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x, index = tf.constant([1.0, 2.0]), tf.constant([0])
...     rows = tf.gather(x, index)
...     largest = tf.argmax(x)
>>> [t.op.name for t in sources_of(rows, rows.op) if carries_gradient(t)]      # no gradient flows to an index
['Const']
>>> passes_gradient(rows.op), passes_gradient(largest.op)
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from towerstrat.graph.ir.graph_elements import Block, Operation, Tensor
from towerstrat.graph.ir.types import resource
from towerstrat.graph.lowering.python_gradients import passes_gradient


def carries_gradient(tensor: Tensor) -> bool:
    """Whether a tensor is floating or complex, or a handle, whose cotangent is the variable's."""
    return tensor.dtype.is_differentiable or tensor.dtype is resource


def sources_of(tensor: Tensor, op: Operation) -> Sequence[Tensor]:
    """The inputs that one output of an operation depends on; of loops and branches by their ``flows`` attribute."""
    if op.definition.sources is not None:
        return op.definition.sources(op, tensor.value_index)
    flows: Sequence[frozenset[int]] | None = op.attrs.get("flows")
    if flows is not None:
        return tuple(op.inputs[i] for i in sorted(flows[tensor.value_index]))
    constants = op.definition.constants
    return op.inputs if not constants else tuple(t for i, t in enumerate(op.inputs) if i not in constants)


def differentiable_leaves(results: Sequence[object], block: Block, stopped: bool = False) -> set[Tensor]:
    """The captures and loop variables of a region that its results depend on differentiably.

    Args:
      results: of the region; entries that are no tensors are skipped.
      block: the region: a branch, a loop's body or a function's.
      stopped: also those that they depend on through floats alone, but not differentiably, as by ``stop_gradient``.
    """
    ends = [r for r in results if isinstance(r, Tensor)]
    seen = _before(ends, block, stopped)
    while not stopped and (zeros := get_zeros(seen, lambda: _before(ends, block, stopped=True))):
        seen |= _before(zeros, block, stopped)
    return {t for t in seen if _enters(t, block)}


def get_zeros(active: Set[Tensor], through_floats: Callable[[], Set[Tensor]]) -> set[Tensor]:
    """The outputs of loops whose cotangent is zeros, and not None, as in the original.

    These are outputs that the end depends on through floats but not differentiably (``stop_gradient``), of loops that
    have other outputs with a cotangent.

    Args:
      active: the tensors that have a cotangent.
      through_floats: gives all that the end depends on through floats alone.
    """
    loops = {t.op for t in active if t.op.type == "While"}
    idle = {t for op in loops for t in op.outputs if t not in active and carries_gradient(t)}
    return idle and idle.intersection(through_floats())


def floats_before(tensor: Tensor) -> Sequence[Tensor]:
    """The inputs of its operation that a tensor depends on through floats alone, differentiably or not."""
    op = tensor.op
    reach: Sequence[frozenset[int]] | None = op.attrs.get("reach")
    return op.inputs if reach is None else [op.inputs[i] for i in reach[tensor.value_index]]


def _before(ends: Iterable[Tensor], block: Block, stopped: bool) -> set[Tensor]:
    """The ancestors of some tensors that carry a gradient, up to those that enter the region; all ends included."""
    seen: set[Tensor] = set()
    stack = list(ends)
    while stack:
        tensor = stack.pop()
        if tensor in seen or not carries_gradient(tensor):
            continue
        seen.add(tensor)
        if not _enters(tensor, block) and (stopped or passes_gradient(tensor.op)):
            stack += floats_before(tensor) if stopped else sources_of(tensor, tensor.op)
    return seen


def _enters(tensor: Tensor, block: Block) -> bool:
    """Whether a tensor is a capture or a loop variable of a region."""
    # A placeholder with a default passes that on.
    return not block.encloses(tensor.op.block) or (tensor.op.definition.is_placeholder and not tensor.op.inputs)
