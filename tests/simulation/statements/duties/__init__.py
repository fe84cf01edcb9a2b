"""The models of `dao/duties/`."""
