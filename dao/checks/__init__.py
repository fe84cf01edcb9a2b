"""Invariants of the tables and the server: for `shoal doctor` and the watcher in each master."""
