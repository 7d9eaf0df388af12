"""The nodes of a pipeline, and iterators over their elements."""
