"""A worker: claims queued tasks of its groups, runs them, reports how they ended, serves their logs."""
