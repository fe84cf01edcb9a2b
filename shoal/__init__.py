"""The user interface of Shoal: command line, settings, and a whole cluster on one machine."""
