"""Eager execution: tensors and variables with values, and the context that executes operations."""
