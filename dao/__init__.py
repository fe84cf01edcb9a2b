"""Every SQL statement of Shoal, one module per aggregate. Functions return rows as frozen values of `model`."""
