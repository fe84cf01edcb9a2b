"""Shoal's performance on this machine, compared with the limit of its PostgreSQL: `make bench` or `python -m bench`."""
