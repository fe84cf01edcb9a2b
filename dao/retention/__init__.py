"""Retention: rows of ended work whose time is over, deleted in batches."""
