"""What a process counts and measures of itself, and where Prometheus reads it."""
