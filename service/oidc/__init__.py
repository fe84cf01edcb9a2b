"""Logins by an OpenID Connect provider. Only `settings` is imported without the extra `oidc`."""
