"""Variables, the operations that read and write them, trackable objects and modules."""
