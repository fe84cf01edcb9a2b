"""Schedules: what people ask of them, when they fire, and what they missed."""
