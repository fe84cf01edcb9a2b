"""Logs of tasks: their names, and the signature of a request for one."""
