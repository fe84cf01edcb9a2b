"""Runs: written by their owner, changed by commands, and how they depend on each other."""
