"""Gathers, scatters, slices, segments, sorting and histograms."""
