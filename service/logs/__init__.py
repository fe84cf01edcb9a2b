"""Logs of tasks: found, searched and read, on a worker's disk or in the log store."""
