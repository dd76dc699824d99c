package pyconfig

// requireMCPAuth exits if the user's settings do not configure authentication of the MCP server: Superset would only
// log this and serve unauthenticated requests. It follows the user's Python, whose settings it reads. It does not
// print the message of an error, which may contain a key.
const requireMCPAuth = `

_mcp_auth_factory = globals().get("MCP_AUTH_FACTORY")


def _require_mcp_auth(app):
    try:
        factory = _mcp_auth_factory
        if factory is None:
            from superset.mcp_service.mcp_config import create_default_mcp_auth_factory as factory
        provider = factory(app)
    except Exception as error:
        sys.exit("the authentication of the MCP server fails: " + type(error).__name__ + ". Correct MCP_AUTH_FACTORY in spec.mcpServer.config")
    if provider is None:
        sys.exit(
            "the MCP server has no authentication: set MCP_AUTH_ENABLED = True and MCP_JWT_SECRET, MCP_JWT_PUBLIC_KEY or"
            " MCP_JWKS_URI in spec.mcpServer.config. MCP_AUTH_ENABLED = False serves everybody"
        )
    return provider


if globals().get("MCP_AUTH_ENABLED") is not False:
    MCP_AUTH_FACTORY = _require_mcp_auth
`
