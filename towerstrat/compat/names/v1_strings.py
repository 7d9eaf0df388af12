"""The public names of the 1.x namespace that are about strings and lookup tables. Data, as in ``v1``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("graph.ops.text.files", {
        "tf tf.io": "matching_files",
    }),
    ("graph.ops.tables.table_classes", {
        "tf": "initialize_all_tables",
        "tf tf.initializers": "tables_initializer",
        "tf.contrib.lookup": """
            HashTable InitializableLookupTableBase KeyValueTensorInitializer LookupInterface TableInitializerBase
            TextFileIdTableInitializer TextFileIndex TextFileInitializer TextFileStringTableInitializer""",
    }),
    ("graph.ops.tables.mutable_tables", {
        "tf.contrib.lookup": "MutableDenseHashTable MutableHashTable",
    }),
    ("graph.ops.ragged.unicode_scripts", {
        "tf.strings": "unicode_script",
    }),
    ("graph.ops.text.strings", {
        "tf": """
            as_string string_join string_split string_strip string_to_hash_bucket string_to_hash_bucket_fast
            string_to_hash_bucket_strong string_to_number""",
        "tf tf.io": "decode_base64 decode_raw encode_base64",
        "tf tf.strings": "reduce_join regex_replace substr",
        "tf.strings": """
            format=string_format join=string_join length=string_length regex_full_match split=string_split_v2
            strip=string_strip to_hash_bucket=string_to_hash_bucket to_hash_bucket_fast=string_to_hash_bucket_fast
            to_hash_bucket_strong=string_to_hash_bucket_strong to_number=string_to_number""",
    }),
    ("graph.ops.tables.vocabulary_tables", {
        "tf.contrib.lookup": """
            FastHashSpec HasherSpec IdTableWithHashBuckets StrongHashSpec index_table_from_file
            index_table_from_tensor index_to_string index_to_string_table_from_file
            index_to_string_table_from_tensor string_to_index string_to_index_table_from_file
            string_to_index_table_from_tensor""",
    }),
)  # fmt: skip
"""A module, and for the public modules (one or more) that have them its names; ``public=own`` where they differ."""
