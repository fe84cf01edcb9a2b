"""Alerts: what people are to be notified of, whom it reaches, and what became of it."""
