"""Claims: tasks, streams and what needs pools are taken, and their ends reported."""
