"""Imports of what other schedulers export: bytes in, files and a report out. Nothing is run, nothing is applied."""
