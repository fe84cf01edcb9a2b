"""Models of the statements of `dao/definitions/`."""
