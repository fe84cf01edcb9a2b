"""Models of the statements of `dao/checks/`."""
