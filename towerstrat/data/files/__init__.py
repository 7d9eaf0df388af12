"""Elements in files."""
