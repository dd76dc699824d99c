"""The provider of authentication that Superset makes by default."""


def create_default_mcp_auth_factory(app):
    """Returns the secret, which stands for tokens that it signed; None without authentication, as in the real one."""
    return app.config.get("MCP_JWT_SECRET") if app.config.get("MCP_AUTH_ENABLED") else None
