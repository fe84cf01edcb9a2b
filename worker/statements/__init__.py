"""Users' statements on users' databases: split, bound to values, run in a thread, cancelled on the server.

What SQL and PROCEDURE share. Nothing here touches Shoal's own database.
"""
