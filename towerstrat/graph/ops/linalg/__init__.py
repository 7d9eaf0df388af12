"""Products, decompositions and einsum."""
