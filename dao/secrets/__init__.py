"""Data encrypted at rest: data sources, environments and SECRET parameters."""
