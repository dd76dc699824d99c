"""superset mcp run: a server of the Model Context Protocol that knows two methods."""

import json

from superset import release
from superset.serve import serve

JSON = "application/json"


def run(store, host, port):
    def respond(method, path, _headers, body):
        if path.rstrip("/") != "/mcp":
            return 404, "text/plain", "superset mcp: no such page\n"
        if method != "POST":
            return 405, "text/plain", f"superset mcp: {release.signature()}\n"
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
    return {**answer, "error": {"code": -32601, "message": "the stand-in knows initialize and ping"}}
