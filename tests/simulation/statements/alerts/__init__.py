"""Models of the statements of `dao/alerts/`."""
