"""``MeanOverWorkers``: the mean of gradients over the processes of a cluster (between-graph replication).

Each process has a graph and data of its own, as with the original's ``tf.train.Server`` and parameter servers; an
optimizer puts this operation between its gradients and their application. One operation takes the gradients of all
variables, so that a step needs one round. Dense gradients come first, then values and indices of each sparse one:

    inputs      gradient of w [2, 3]     of table: values [rows, 4], indices [rows]
    outputs     mean [2, 3]              values [all rows, 4], each divided by the number of processes, indices

It runs on the host, in a stage of its own (``graph/runtime/collective/gradient_mean_stage.py``); in a session that is
connected to no cluster it is the identity. It has no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.indexed_slices import IndexedSlices
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import Dims, merge
from towerstrat.graph.ir.types import Array
from towerstrat.graph.variables.variables import Variable

TYPE = "MeanOverWorkers"


def mean_over_workers(pairs: Sequence[tuple[Any, Variable]], asynchronous: bool, name: str | None = None) -> list[Any]:
    """Averages gradients over the processes that train together, by one ``MeanOverWorkers``.

    In a session that is connected to no cluster the results are this process's gradients.

    Args:
      pairs: (gradient, variable); gradients are tensors or ``IndexedSlices``.
      asynchronous: whether the original would have applied each worker's gradients as they came; a run then warns.
      name: of the operation; by default "MeanOverWorkers".

    Returns:
      The mean of each gradient, in the order of ``pairs``: a tensor of its dtype, or ``IndexedSlices`` with the rows of
      all processes.
    """
    dense = [(g, v) for g, v in pairs if not isinstance(g, IndexedSlices)]
    rows = [(g, v) for g, v in pairs if isinstance(g, IndexedSlices)]
    inputs = [g for g, _ in dense] + [part for g, _ in rows for part in (g.values, g.indices)]
    attrs = {
        "dense": tuple(v.op.name for _, v in dense), "rows": tuple(v.op.name for _, v in rows),
        "shapes": (
            *(merge(g.dims, v.shape.raw) for g, v in dense),
            *(_row(merge(g.values.dims, v.shape.raw and (None, *v.shape.raw[1:]))) for g, v in rows),
        ),
        "asynchronous": asynchronous,
    }  # fmt: skip
    outputs = get_default_graph().add(TYPE, inputs, attrs, name).outputs
    means: dict[int, Any] = {id(v): mean for (_, v), mean in zip(dense, outputs, strict=False)}
    for k, (g, v) in enumerate(rows):
        start = len(dense) + 2 * k
        means[id(v)] = IndexedSlices(outputs[start], outputs[start + 1], g.dense_shape)
    return [means[id(v)] for _, v in pairs]


def _row(dims: Dims) -> Dims:
    return dims and dims[1:]


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    count = len(attrs["dense"])
    means = [Signature(t.dtype, dims) for t, dims in zip(inputs[:count], attrs["shapes"], strict=False)]
    rows = [Signature(t.dtype, None if t.dims is None else (None, *t.dims[1:])) for t in inputs[count:]]
    return means + rows


def _alone(session: object, op: Operation, values: Sequence[Array]) -> Sequence[Array]:
    """The host function in a session that is connected to no cluster: the identity."""
    return values


define_op(
    TYPE, _rule, host=_alone, stage="meeting", stateful=True, differentiable=False, hidden=("shapes", "asynchronous")
)
