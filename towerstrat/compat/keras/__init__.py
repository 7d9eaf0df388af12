"""``tf.keras``: the package keras 2.15, executed file by file with an ``import`` of its own; what is ours beside it."""
