"""Secrets of tasks: decrypted for them, and masked in what they print."""
