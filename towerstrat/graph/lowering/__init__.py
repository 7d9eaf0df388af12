"""Lowering of graphs to JAX: evaluation in order, reverse mode, error records, random counters, uneven shards."""
