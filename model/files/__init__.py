"""Files of projects: their names, the tasks that get them, and their texts in a definition."""
