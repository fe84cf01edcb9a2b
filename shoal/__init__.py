"""The face of Shoal: command line, settings, and everything on one machine."""
