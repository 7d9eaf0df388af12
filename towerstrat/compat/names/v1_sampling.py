"""The public names of the 1.x namespace for candidate sampling and sparse values. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("graph.ops.nn.candidate_sampling", {
        "tf.nn": """
            all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler
            learned_unigram_candidate_sampler nce_loss sampled_softmax_loss""",
        "tf.nn tf.random": "log_uniform_candidate_sampler uniform_candidate_sampler",
    }),
    ("graph.ops.sparse.dense_conversion", {
        "tf": "sparse_to_dense",
    }),
)  # fmt: skip
