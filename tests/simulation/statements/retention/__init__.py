"""The models of `dao/retention/`."""
