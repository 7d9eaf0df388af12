"""What towers have together: rows that count, and means of losses."""

from __future__ import annotations

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.mesh import Axis
from towerstrat.graph.ops.array.arrays import concat, expand_dims, reshape, shape, size, where, zeros_like
from towerstrat.graph.ops.collectives import all_reduce
from towerstrat.graph.ops.indexing.gather_scatter import gather
from towerstrat.graph.ops.math.arithmetic import cast, divide, greater


class Rows:
    """The rows that towers have, of batches of which some rows may stand for nothing.

    Args:
      axis: the towers; None: one.
      numbers: on each tower the numbers of its rows that count; None: all do.
      batch: the rows of a tower's batch; None: as many as count.
    """

    def __init__(self, axis: Axis | None, numbers: Tensor | None, batch: int | None):
        self._axis = axis
        self._numbers = numbers
        self._batch = batch

    def together(self, tensor: Tensor) -> Tensor:
        """The rows that count of all towers, one tower's after the other.

        A tensor with another first dimension than the batch's counts as a whole, where a tower has any row.

        Raises:
          RuntimeError: the tensor is a scalar.
        """
        check_rank(tensor)
        if self._numbers is not None:
            tensor = self._counting(tensor, self._numbers)
        if self._axis is None:
            return tensor
        if tensor.varies:
            return all_reduce.all_concat(tensor, self._axis)
        return concat([tensor] * self._axis.size, 0)

    def mean(self, loss: Tensor) -> Tensor:
        """The mean of a loss over the towers, each with the weight of its rows."""
        if self._axis is None or not loss.varies:
            return loss
        total, rows = loss, None
        if self._numbers is not None:
            with get_default_graph().under(self._axis):
                rows = cast(size(self._numbers), loss.dtype)
                total = where(greater(rows, 0), loss * rows, zeros_like(loss))
        total = all_reduce.all_reduce(total, self._axis, "sum")
        if rows is None:
            return divide(total, self._axis.size)
        return divide(total, all_reduce.all_reduce(rows, self._axis, "sum"))

    def _counting(self, tensor: Tensor, numbers: Tensor) -> Tensor:
        with get_default_graph().under(self._axis):
            rows = None if tensor.dims is None else tensor.dims[0]
            if rows is None and self._batch is None:
                return tensor
            if rows is None or rows == self._batch:
                return gather(tensor, numbers)
            kept = gather(expand_dims(tensor, 0), zeros_like(numbers[:1]))
            return reshape(kept, concat([[-1], shape(tensor)[1:]], 0))


def check_rank(tensor: Tensor) -> None:
    """Raises RuntimeError for a scalar: towers' values are concatenated along their first dimension."""
    if tensor.dims == ():
        raise RuntimeError(
            f"All tensors outfed from TPU should preserve batch size dimension, but got scalar {tensor!r}. Give it one "
            "with tf.reshape(tensor, [1])."
        )
