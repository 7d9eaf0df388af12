"""Sessions: feeds, fetches, and all operations that one runs."""
