"""Alerts: where they are sent, when they are not, by which rules they are raised, and what became of each."""
