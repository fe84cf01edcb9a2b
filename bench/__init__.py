"""What Shoal does on this machine, beside what its PostgreSQL could do at most: `make bench`, or `python -m bench`."""
