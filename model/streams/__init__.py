"""Streams: tasks that are not expected to end."""
