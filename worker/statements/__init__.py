"""Statements of users on databases of users: their text taken apart, values bound, run in a thread, cancelled for real.

What SQL and PROCEDURE share. Nothing here touches Shoal's own database.
"""
