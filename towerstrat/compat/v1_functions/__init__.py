"""What names of 1.x mean that have no equal among those of 2.x."""
