"""Lowering of graphs to JAX: evaluation in order, reverse-mode gradients, input checks, ragged shards."""
