"""Datasets as programs write them."""
