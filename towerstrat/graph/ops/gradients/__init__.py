"""``tf.gradients``: differentiable paths, traces of gradient functions, and the operation along the paths."""
