"""Queues, their runners, and readers that fill them."""
