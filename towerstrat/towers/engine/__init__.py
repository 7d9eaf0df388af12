"""What both surfaces stand on: the axis of towers, contexts, values, variables, step loops."""
