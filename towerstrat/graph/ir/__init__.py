"""What a program is: types, shapes, operations, graphs, and the state that outlives a run."""
