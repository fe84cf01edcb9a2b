"""Runs in memory: what a run does next is decided by pure modules and written by the driver."""
