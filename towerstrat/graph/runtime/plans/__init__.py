"""Plans: the stages of a run, and the runs."""
