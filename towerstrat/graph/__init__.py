"""What a program is (a deferred graph) and how it becomes one JAX function."""
