"""The cluster: nodes, their beats, the work of lost nodes, and the settings that are the same for all."""
