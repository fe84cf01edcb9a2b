"""Projects: what their workflows share, and what they may use."""
