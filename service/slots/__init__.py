"""Slots: who has which, now and before, and whose a command is."""
