"""Functions whose arguments differ between 1.x and 2.x: the 2.x arguments, translated to the one implementation."""
