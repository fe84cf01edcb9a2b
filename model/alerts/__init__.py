"""Alerts, the rules that cause them, and the channels that carry them."""
