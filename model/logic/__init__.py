"""The task types that run in the master: what their parameters say and what follows from them."""
