"""What operations are built with: names, conversions, axes, and kernels in numpy."""
