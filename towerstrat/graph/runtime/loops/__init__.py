"""Steps that run many at a time in one program."""
