"""Accounts: passwords, logins, sessions, tokens and members of projects."""
