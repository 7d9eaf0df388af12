"""``tf.gradients``: the operations on differentiable paths, and the operation that differentiates along them."""
