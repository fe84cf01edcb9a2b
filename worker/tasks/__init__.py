"""The task types that come with Shoal, one module each; others come as plug-ins by entry point `shoal.tasks`."""
