"""PostgreSQL itself: connections, transactions, errors, notifications, and the version of the schema."""
