"""Alerts: what a person is to be notified of, and what the rules of projects need to know."""
