"""Elements of a pipeline: their structures, and values that consist of several arrays."""
