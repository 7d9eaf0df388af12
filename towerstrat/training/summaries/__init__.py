"""Summaries: values as events in files that TensorBoard reads."""
