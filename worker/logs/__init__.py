"""Logs of tasks: written, served, copied to the log store, deleted."""
