"""Random numbers, with and without state."""
