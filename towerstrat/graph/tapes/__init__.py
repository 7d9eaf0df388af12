"""Gradients of Python: GradientTape, custom gradients, vectorized maps, Python functions as operations."""
