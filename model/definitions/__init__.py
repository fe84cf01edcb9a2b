"""Definitions: workflows, what is wrong with them, and the plans made from them."""
