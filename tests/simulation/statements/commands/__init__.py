"""Models of the statements of `dao/commands/`."""
