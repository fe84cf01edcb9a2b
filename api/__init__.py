"""The REST API: routes of operations, live events, and the server process."""
