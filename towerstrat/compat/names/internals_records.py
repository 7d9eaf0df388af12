"""Modules of the original's inside about records, examples and csv files. Data, as in ``internals``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import LazyName, named

MODULES: dict[str, tuple[str, dict[str, LazyName]]] = {
    "core.example.example_pb2": ("", named("platform.messages", "Example SequenceExample")),
    "core.example.feature_pb2": (
        "", named("platform.messages", "BytesList Feature FeatureList FeatureLists Features FloatList Int64List")),
    "python.lib.io.python_io": ("tf.python_io", {}),
    "python.lib.io.tf_record": ("tf.python_io", {}),
    "python.ops.parsing_ops": ("tf", {}),
}  # fmt: skip
"""Path below ``tensorflow`` -> (the public modules whose names it offers; names of its own)."""
