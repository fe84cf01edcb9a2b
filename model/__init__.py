"""The ground floor: what the words of Shoal mean. Imports nothing else of Shoal and does no I/O."""
