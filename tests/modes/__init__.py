"""Training programs drawn from lists whose values meet in pairs: structure, strategy, mode, input, loop."""
