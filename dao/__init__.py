"""Every SQL statement of Shoal, one module an aggregate. Rows leave here as frozen values of `model`."""
