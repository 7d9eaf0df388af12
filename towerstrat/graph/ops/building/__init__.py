"""Parts that operations are built with: conversions of arguments, axes, names, and numpy kernels."""
