"""Datasets of files and databases."""
