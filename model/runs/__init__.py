"""Runs and their tasks: commands, states, what may begin next."""
