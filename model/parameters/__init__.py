"""Parameters: their values, how they refer to each other, and which are secret."""
