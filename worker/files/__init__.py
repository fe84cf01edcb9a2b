"""Files of projects on a worker: kept by their hash, put into the folders of tasks."""
