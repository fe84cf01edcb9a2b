"""A master: finds its slot, takes the commands in it, drives the workflow instances that it owns."""
