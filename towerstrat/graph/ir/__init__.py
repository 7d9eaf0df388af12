"""The intermediate representation: types, shapes, nests, conversion to tensors, operations, graphs and state."""
