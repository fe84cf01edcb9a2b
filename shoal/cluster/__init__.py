"""The cluster seen from outside: its checks, its slots, its registry."""
