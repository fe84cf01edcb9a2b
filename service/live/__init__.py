"""What changes, for those who watch: notifications become small patches for each listener."""
