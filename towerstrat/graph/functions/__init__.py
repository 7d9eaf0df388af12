"""Python functions as graphs: tracing, calling, inlining, and ``tf.function``."""
