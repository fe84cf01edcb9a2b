"""Data sources, environments, secrets, and the keys that seal them."""
