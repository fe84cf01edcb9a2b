"""Accounts: who may do what, tokens, limits of logins and of projects, the audit."""
