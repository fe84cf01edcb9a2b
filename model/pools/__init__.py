"""Resource pools: what they hold, and whose turn it is."""
