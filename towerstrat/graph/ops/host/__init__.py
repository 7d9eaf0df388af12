"""Operations that call Python on the host."""
