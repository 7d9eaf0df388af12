"""Variables, and the operations that read and write them."""
