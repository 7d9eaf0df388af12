"""The names that old programs know: the namespace, the import of ``tensorflow`` and the script runner."""
