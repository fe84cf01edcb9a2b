"""Models of the statements of `dao/streams/`."""
