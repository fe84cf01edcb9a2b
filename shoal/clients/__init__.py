"""Clients of Shoal: on its database, or through its API. A verb uses either without knowing which."""
