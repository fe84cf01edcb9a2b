"""Models of the statements of `dao/runs/`."""
