"""What a process counts and measures about itself, and the endpoint for Prometheus."""
