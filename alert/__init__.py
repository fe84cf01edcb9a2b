"""A sender: takes what the alert table contains to the channels of its group, at least once, each channel by itself."""
