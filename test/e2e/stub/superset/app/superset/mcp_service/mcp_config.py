"""The default provider of authentication in Superset."""


def create_default_mcp_auth_factory(app):
    """Return the secret, which the stub accepts as a token. As in Superset, return None if authentication is off."""
    return app.config.get("MCP_JWT_SECRET") if app.config.get("MCP_AUTH_ENABLED") else None
