"""A master: computes its slot, claims the commands in it, and drives the workflow instances that it owns."""
