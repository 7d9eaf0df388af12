"""Operations on strings and files."""
