"""Queries for people. Reads only."""
