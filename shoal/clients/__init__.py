"""Ways to ask Shoal: on its database, or through its API. A verb uses one without knowing which."""
