"""Saving and restoring: savers by name, what they save, and the files that there are."""
