"""Models of the statements of `dao/cluster/`."""
