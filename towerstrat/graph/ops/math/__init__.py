"""Arithmetic, elementwise functions, reductions and Fourier transforms."""
