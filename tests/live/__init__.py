"""Live events: the hub alone, on a real PostgreSQL."""
