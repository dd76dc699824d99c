"""celery … flower: the page of the monitor and its health check. Celery finds the command by its entry point."""

import base64
import hmac
import os

import click

from superset import release
from superset.serve import serve


@click.command()
@click.option("--url_prefix", default="")
@click.option("--port", type=int, default=5555)
@click.option("--address", default="0.0.0.0")
@click.pass_context
def flower(context, url_prefix, port, address):
    """Show the workers that respond."""
    prefix = "/" + url_prefix.strip("/") if url_prefix.strip("/") else ""
    login = os.environ.get("FLOWER_BASIC_AUTH")
    app = context.obj.app

    def respond(_method, path, headers, _body):
        if path == prefix + "/healthcheck":
            return 200, "text/plain", "OK"
        if path.rstrip("/") != prefix:
            return 404, "text/plain", "superset flower: no such page\n"
        if login and not right(headers.get("Authorization"), login):
            return 401, "text/plain", "superset flower: who are you?\n"
        workers = sorted(app.control.inspect(timeout=2).ping() or {})
        return 200, "text/plain", f"superset flower: {release.signature()} workers={len(workers)} {' '.join(workers)}\n"

    serve(address, port, respond)


def right(header, login):
    return hmac.compare_digest(header or "", "Basic " + base64.b64encode(login.encode()).decode())
