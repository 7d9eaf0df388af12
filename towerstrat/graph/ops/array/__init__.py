"""Operations that make, shape and join arrays."""
