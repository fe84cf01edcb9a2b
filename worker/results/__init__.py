"""Ends of tasks that are on disk until the database has them."""
