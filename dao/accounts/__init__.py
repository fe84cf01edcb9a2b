"""Accounts: who may log in, how, what each may do, and what each did."""
