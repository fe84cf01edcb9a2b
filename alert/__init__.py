"""A sender: delivers alerts to the channels of their group, at least once, each channel independently."""
