"""Attempts: how each runs, from the claimed row to the report of its end."""
