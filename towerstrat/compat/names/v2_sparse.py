"""The public names of the 2.x namespace that are about sparse tensors. Data, as in ``v2``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

KEPT = """
    cross_hashed eye fill_empty_rows mask maximum minimum reorder reset_shape reshape retain slice softmax
    SparseTensor sparse_dense_matmul=tf.sparse.matmul to_indicator transpose expand_dims"""
"""The names of ``tf.sparse`` whose objects are those of 1.x."""

ROWS: Rows = (
    ("compat.v2_functions.sparse", {
        "tf.nn": "safe_embedding_lookup_sparse",
        "tf.sparse": "add concat cross reduce_max reduce_sum split to_dense",
    }),
    ("graph.ir.sparse_tensor", {
        "tf": "SparseTensorSpec",
    }),
    ("graph.ops.sparse.arithmetic", {
        "tf.sparse": "map_values",
    }),
    ("graph.ops.ragged.crosses", {
        "tf": "ragged_fill_empty_rows ragged_fill_empty_rows_grad",
        "tf.ragged": "cross cross_hashed stack_dynamic_partitions",
    }),
    ("graph.ops.ragged.bincount", {
        "tf.math": "bincount",
        "tf.sparse": "bincount=sparse_bincount",
    }),
    ("graph.ops.sparse.concat_split", {
        "tf.sparse": "from_dense",
    }),
)  # fmt: skip
"""A module, and for the public modules (one or more) that have them its names; ``public=own`` where they differ."""
