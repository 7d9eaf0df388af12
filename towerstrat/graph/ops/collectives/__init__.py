"""Operations over the indices of an axis, and over processes."""
