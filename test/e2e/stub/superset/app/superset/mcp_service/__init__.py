"""superset mcp run: an MCP server with two methods, initialize and ping."""

import json
from types import SimpleNamespace

from superset import release
from superset.mcp_service.mcp_config import create_default_mcp_auth_factory
from superset.serve import serve

JSON = "application/json"


def auth_provider(settings):
    """Return the provider of authentication. As in Superset, return None without one or if its factory fails."""
    factory = settings.get("MCP_AUTH_FACTORY") or create_default_mcp_auth_factory
    try:
        return factory(SimpleNamespace(config=settings))
    except Exception as problem:
        print(f"Failed to create auth provider: {type(problem).__name__}", flush=True)
        return None


def run(store, host, port):
    provider = auth_provider(store.settings)

    def respond(method, path, headers, body):
        if path.rstrip("/") != "/mcp":
            return 404, "text/plain", "superset mcp: no such page\n"
        if method != "POST":
            return 405, "text/plain", f"superset mcp: {release.signature()}\n"
        if provider is not None and headers.get("Authorization") != f"Bearer {provider}":
            return 401, JSON, json.dumps({"error": "invalid_token"})
        try:
            return 200, JSON, json.dumps(reply(store, json.loads(body)))
        except (ValueError, TypeError, AttributeError) as problem:
            return 400, JSON, json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": str(problem)}})

    serve(host, port, respond)


def reply(store, request):
    answer = {"jsonrpc": "2.0", "id": request.get("id")}
    if request.get("method") == "ping":
        return {**answer, "result": {}}
    if request.get("method") == "initialize":
        store.opened()
        info = {"name": "superset", "version": release.VERSION, "pod": release.POD}
        return {**answer, "result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}}
    return {**answer, "error": {"code": -32601, "message": "the stub supports initialize and ping"}}
