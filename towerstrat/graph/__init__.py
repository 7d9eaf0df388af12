"""Programs as deferred graphs, and their lowering to one JAX function."""
