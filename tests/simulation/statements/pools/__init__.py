"""Models of the statements of `dao/pools/`."""
