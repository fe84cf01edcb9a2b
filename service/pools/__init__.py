"""Resource pools: what people may ask of them, and their YAML."""
