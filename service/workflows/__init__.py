"""Workflow definitions in files: read, checked, saved."""
