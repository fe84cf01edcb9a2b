"""Definitions: workflows, their problems, and the plans made from them."""
