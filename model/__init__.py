"""The lowest layer: the concepts of Shoal as types and pure functions. Imports nothing else of Shoal, does no I/O."""
