"""The public names of ragged tensors, those that 1.13 to 1.15 added and those of 2.x. Data, as in ``v1``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("graph.ops.ragged.constructors", {
        "tf.ragged": """
            boolean_mask constant map_flat_values range=ragged_range row_splits_to_segment_ids
            segment_ids_to_row_splits stack""",
    }),
    ("graph.ops.ragged.ragged_tensor", {
        "tf": "RaggedTensor RaggedTensorSpec",
    }),
    ("graph.ops.ragged.string_rows", {
        "tf.strings": "bytes_split ngrams",
    }),
    ("graph.ops.ragged.unicode", {
        "tf.strings": """
            unicode_decode unicode_decode_with_offsets unicode_encode unicode_split unicode_split_with_offsets
            unicode_transcode""",
    }),
)  # fmt: skip
"""A module, and for the public modules (one or more) that have them its names; ``public=own`` where they differ."""

LATER_ROWS: Rows = (
    *ROWS,
    ("graph.ops.ragged.constructors", {
        "tf.ragged": "constant_value placeholder=ragged_placeholder",
    }),
    ("graph.ops.ragged.value", {
        "tf.ragged": "RaggedTensorValue",
    }),
)  # fmt: skip
"""Likewise, of 1.13 to 1.15."""
