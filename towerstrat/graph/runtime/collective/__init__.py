"""Stages that all processes run together."""
