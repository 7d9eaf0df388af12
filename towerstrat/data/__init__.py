"""Datasets and iterators: input as pull iterators over numpy values, on the host."""
