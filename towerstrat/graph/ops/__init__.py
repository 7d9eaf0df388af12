"""Operation types and the public functions that add them, by domain."""
