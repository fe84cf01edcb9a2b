"""Models of the statements of `dao/postgres/`."""
