"""Towers: strategies, contexts, distributed values, the step loop."""
