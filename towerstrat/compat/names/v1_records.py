"""The public names of the 1.x namespace for records, examples and csv files. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("platform.record_files", {
        "tf.python_io tf.io": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
    }),
    ("platform.messages", {
        "tf.train": "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample",
    }),
    ("graph.ops.text.files", {
        "tf tf.io": "read_file write_file",
    }),
    ("data.parsing.feature_specs", {
        "tf tf.io": "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature",
    }),
    ("data.parsing.examples", {
        "tf tf.io": "parse_example parse_single_example",
    }),
    ("data.parsing.sequence_examples", {
        "tf tf.io": "parse_single_sequence_example",
        "tf.io": "parse_sequence_example",
    }),
    ("data.parsing.csv_fields", {
        "tf tf.io": "decode_csv",
    }),
    ("data.readers.csv_datasets", {
        "tf.contrib.data tf.data.experimental": "CsvDataset=CsvDatasetV1 make_csv_dataset=make_csv_dataset_v1",
    }),
    ("data.readers.example_datasets", {
        "tf.contrib.data tf.data.experimental": """
            make_batched_features_dataset=make_batched_features_dataset_v1
            parse_example_dataset=parse_example_dataset_v1""",
        "tf.contrib.data": "read_batch_features",
    }),
    ("data.queues.conditional_accumulators", {
        "tf": "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator",
        "tf.sparse": "SparseConditionalAccumulator",
    }),
    ("data.api.group_by_reducer", {
        "tf.contrib.data": "reduce_dataset",
        "tf.contrib.data tf.data.experimental": "Reducer group_by_reducer",
    }),
    ("data.readers.lmdb_datasets", {
        "tf.contrib.data": "LMDBDataset",
    }),
    ("data.api.transforms_v2", {
        "tf.contrib.data": "get_next_as_optional",
    }),
    ("data.elements.optional", {
        "tf.contrib.data": "Optional",
    }),
    ("data.queues.file_readers", {
        "tf": """
            FixedLengthRecordReader IdentityReader LMDBReader ReaderBase TFRecordReader TextLineReader
            WholeFileReader""",
    }),
    ("data.readers.sql_datasets", {
        "tf.contrib.data tf.data.experimental": "SqlDataset=SqlDatasetV1",
    }),
    ("data.api.tfrecord_writing", {
        "tf.contrib.data tf.data.experimental": "TFRecordWriter",
    }),
    ("data.elements.sparse_protos", {
        "tf tf.io": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
    }),
    ("data.parsing.serialization", {
        "tf tf.io": "decode_compressed decode_json_example parse_tensor",
        "tf": "serialize_tensor",
    }),
)  # fmt: skip
