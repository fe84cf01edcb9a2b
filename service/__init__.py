"""The use cases: what people and programs may ask of Shoal, each once, below every user interface."""
