"""A whole cluster on this machine: `shoal up` and `shoal demo`."""
