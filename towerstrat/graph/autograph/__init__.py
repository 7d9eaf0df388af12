"""Source conversion: control flow over tensors, written as Python statements, becomes graph operations."""
