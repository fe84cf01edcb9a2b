"""The task types that run in the master: their parameters and their decisions."""
