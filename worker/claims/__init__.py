"""Claims tasks, streams and attempts that need pools, and reports their ends."""
