"""Files of projects: how they are named, which of them a task gets, and where their texts stand in a definition."""
