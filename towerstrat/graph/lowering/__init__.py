"""From operations to JAX: evaluation in order, gradients, values whose shape differs by position."""
