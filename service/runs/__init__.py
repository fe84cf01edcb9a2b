"""Runs as people start, name and follow them."""
