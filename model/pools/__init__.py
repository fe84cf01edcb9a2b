"""Resource pools: their content, and which attempt gets what next."""
