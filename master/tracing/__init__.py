"""Spans of runs and attempts, for a receiver of traces."""
