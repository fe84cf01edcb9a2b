"""Runs in memory: pure modules decide what a run does next, and the driver writes it."""
