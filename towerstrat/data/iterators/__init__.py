"""Iterators of sessions and of Python."""
