"""Resource pools: what they have, and who holds it."""
