"""The intermediate representation: types, shapes, operations, graphs and state."""
