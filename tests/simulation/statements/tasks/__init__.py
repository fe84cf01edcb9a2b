"""Models of the statements of `dao/tasks/`."""
