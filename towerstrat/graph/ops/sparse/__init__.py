"""Sparse tensors: made, as dense ones, in order, cut and joined, computed with."""
