"""``tf.data.experimental.TFRecordWriter``: a dataset of strings as a TFRecord file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.data.api.dataset import Dataset, checked_dataset
from towerstrat.data.elements.types import Array
from towerstrat.data.iterators.session_iterators import with_operation
from towerstrat.data.pipeline.dataset_variants import opening_of
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation
from towerstrat.graph.ir.op_registry import define_op, nothing
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.ir.types import string
from towerstrat.graph.runtime.plans.runner import Runner
from towerstrat.platform import record_files


def _write(session: Runner, op: Operation, values: Sequence[Array]) -> list[Array]:
    name, compression, *given = values
    node = op.attrs["node"]
    try:
        opening = opening_of(session, op, node, given)
        with record_files.TFRecordWriter(name.item(), compression.item().decode()) as writer:
            for (record,) in node.open(opening):
                writer.write(record.item())
    except Exception as error:
        raise with_operation(error, op) from error.__cause__
    return []


define_op("DatasetToTFRecord", nothing, host=_write, stateful=True, differentiable=False, hidden=("node",))


class TFRecordWriter:
    """Writes datasets to a file.

    Args:
      filename: the file, which each writing begins anew.
      compression_type: "", "GZIP" or "ZLIB".
    """

    def __init__(self, filename: Any, compression_type: Any = None):
        self._filename = convert_to_tensor(filename, string)
        self._compression = convert_to_tensor("" if compression_type is None else compression_type, string)

    def write(self, dataset: Dataset) -> Operation | None:
        """The operation that writes the elements; under eager execution it runs at once, and this is None.

        Raises:
          TypeError: the elements are no scalar strings.
        """
        node = checked_dataset(dataset, "TFRecordWriter.write").node
        structure = node.structure
        if structure.dtypes != (string,) or structure.dims != ((),):
            raise TypeError(
                "`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape "
                f"{structure.shapes} and types {structure.types}"
            )
        graph = get_default_graph()
        op = graph.add("DatasetToTFRecord", [self._filename, self._compression, *node.inputs()], {"node": node})
        return None if graph.executing_eagerly else op
