"""Compiled programs, kept by signature."""
