"""Branches, loops, arrays of tensors, and assertions."""
