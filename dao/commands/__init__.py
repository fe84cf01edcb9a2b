"""Waiting commands, their history, error commands and suspect commands."""
