"""node dist/index.js start: only the health check. It rejects every connection as unauthenticated."""

import json
import os
import sys
from pathlib import Path

from superset.serve import serve

CONFIG = Path("/home/superset-websocket/config.json")
SHORTEST_SECRET = 32


def main(arguments):
    if arguments != ["dist/index.js", "start"]:
        sys.exit(f"node: the stub runs only dist/index.js start, got {arguments}")
    settings = json.loads(CONFIG.read_text()) if CONFIG.exists() else {}
    secret = os.environ.get("JWT_SECRET") or settings.get("jwtSecret", "")
    if len(secret.encode()) < SHORTEST_SECRET:
        sys.exit(f"ERROR: Please provide a JWT secret at least {SHORTEST_SECRET} bytes long")
    serve("0.0.0.0", int(os.environ.get("PORT") or settings.get("port", 8080)), respond)


def respond(_method, path, headers, _body):
    if headers.get("Upgrade", "").lower() == "websocket":
        return 401, "text/plain", "superset websocket: no valid token\n"
    if path == "/health":
        return 200, "text/plain", "OK"
    return 404, "text/plain", "Not Found"
