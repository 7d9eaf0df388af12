"""The public names of the 1.x namespace that are about sparse tensors and sets. Data, as in ``v1``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("graph.ir.sparse_tensor", {
        "tf": "SparseTensorValue convert_to_tensor_or_sparse_tensor",
        "tf.contrib.framework": "convert_to_tensor_or_sparse_tensor",
        "tf tf.sparse": "SparseTensor",
    }),
    ("graph.ops.sparse.arithmetic", {
        "tf": """
            sparse_add sparse_maximum sparse_minimum sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum
            sparse_reduce_sum_sparse sparse_softmax sparse_tensor_dense_matmul""",
        "tf.sparse": """
            add=sparse_add matmul=sparse_tensor_dense_matmul maximum=sparse_maximum minimum=sparse_minimum
            reduce_max=sparse_reduce_max reduce_max_sparse=sparse_reduce_max_sparse reduce_sum=sparse_reduce_sum
            reduce_sum_sparse=sparse_reduce_sum_sparse softmax=sparse_softmax""",
    }),
    ("graph.ops.sparse.crosses", {
        "tf.sparse": "cross=sparse_cross cross_hashed=sparse_cross_hashed",
    }),
    ("graph.ops.sparse.dense_conversion", {
        "tf": "sparse_placeholder sparse_tensor_to_dense",
        "tf.sparse": "placeholder=sparse_placeholder to_dense=sparse_tensor_to_dense",
    }),
    ("graph.ops.sparse.embedding", {
        "tf.nn": "safe_embedding_lookup_sparse",
    }),
    ("graph.ops.sparse.ordering", {
        "tf": "sparse_reorder sparse_reset_shape sparse_reshape sparse_transpose",
        "tf.sparse": """
            expand_dims=sparse_expand_dims reorder=sparse_reorder reset_shape=sparse_reset_shape
            reshape=sparse_reshape transpose=sparse_transpose""",
    }),
    ("graph.ops.sparse.concat_split", {
        "tf": """
            sparse_concat sparse_fill_empty_rows sparse_mask sparse_merge sparse_retain sparse_slice sparse_split
            sparse_to_indicator""",
        "tf.sparse": """
            concat=sparse_concat eye=sparse_eye fill_empty_rows=sparse_fill_empty_rows mask=sparse_mask
            merge=sparse_merge retain=sparse_retain slice=sparse_slice split=sparse_split
            to_indicator=sparse_to_indicator""",
    }),
    ("graph.ops.sparse.sets", {
        "tf": "edit_distance",
        "tf.sets": "set_difference set_intersection set_size set_union",
    }),
)  # fmt: skip
"""A module, and for the public modules (one or more) that have them its names; ``public=own`` where they differ."""

LATER: dict[str, str] = {
    "tf": "SparseTensorSpec",
    "tf.sets": "difference intersection size union",
    "tf.sparse": "from_dense sparse_dense_matmul",
}
"""Likewise, of those of 2.x those that 1.13 to 1.15 had."""
