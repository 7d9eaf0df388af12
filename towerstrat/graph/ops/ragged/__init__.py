"""Ragged tensors: rows of different lengths, as flat values and row partitions."""
