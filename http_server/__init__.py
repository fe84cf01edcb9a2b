"""The HTTP server of the API, of the logs of a worker and of metrics: what clients may take of it is limited."""
