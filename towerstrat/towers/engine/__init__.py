"""The engine under the strategies of both surfaces: contexts, values, variables, reductions, step loops."""
