"""The public names of the 2.x namespace for records, examples and csv files. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("compat.v2_functions.parsing", {
        "tf.data.experimental": "CheckpointInputPipelineHook make_saveable_from_iterator",
        "tf.io": "decode_csv parse_example parse_single_example",
    }),
    ("data.readers.csv_datasets", {
        "tf.data.experimental": "CsvDataset make_csv_dataset",
    }),
    ("data.api.transforms_v1", {
        "tf.data.experimental": "dense_to_ragged_batch rejection_resample",
    }),
    ("data.api.group_by_reducer", {
        "tf.data.experimental": "Reducer group_by_reducer",
    }),
    ("data.api.dataset_tables", {
        "tf.data.experimental": "DatasetInitializer index_table_from_dataset table_from_dataset",
    }),
    ("data.readers.example_datasets", {
        "tf.data.experimental": "make_batched_features_dataset parse_example_dataset",
    }),
    ("data.parsing.ragged_features", {
        "tf.io": "RaggedFeature",
    }),
    ("data.readers.sql_datasets", {
        "tf.data.experimental": "SqlDataset",
    }),
    ("data.api.tfrecord_writing", {
        "tf.data.experimental": "TFRecordWriter",
    }),
    ("data.elements.sparse_protos", {
        "tf.io": """
            deserialize_many_sparse serialize_many_sparse=serialize_many_sparse_v2
            serialize_sparse=serialize_sparse_v2""",
    }),
    ("data.parsing.serialization", {
        "tf.io": "serialize_tensor",
    }),
)  # fmt: skip
"""(module, {place: names}); see ``v1.ROWS``."""
