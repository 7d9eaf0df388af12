"""Each operation type through the original: the nodes that are written of it build and run there, with equal values."""
