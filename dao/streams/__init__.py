"""Streams: their claims, readiness, ends and restarts."""
