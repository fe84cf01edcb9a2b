"""Attempts of tasks: written by their master and their worker, and the events between the two."""
