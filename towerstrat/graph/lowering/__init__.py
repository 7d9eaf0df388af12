"""From operations to JAX: evaluation in order, gradients, positions that go different ways."""
