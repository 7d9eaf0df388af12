"""Gradients through structural operations: a table of what is around what, on which towers, in which way."""
