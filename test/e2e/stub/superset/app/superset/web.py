"""The pages of the web server, a WSGI application for gunicorn."""

import time
from urllib.parse import parse_qs

from superset import release

LONGEST_SLEEP_MS = 60_000


def application(store):
    """Return the WSGI application."""
    pages = {"/": home, "/health": health, "/async": through_worker}

    def respond(environ, start_response):
        page = pages.get(environ["PATH_INFO"])
        if page is None:
            return answer(start_response, "404 NOT FOUND", "superset: no such page")
        try:
            return answer(start_response, "200 OK", page(store, parse_qs(environ.get("QUERY_STRING", ""))))
        except Exception as problem:  # noqa: BLE001, every error is an answer, and the server continues
            print(f"superset: {environ['PATH_INFO']}: {problem!r}", flush=True)
            text = f"superset error: {type(problem).__name__} {release.signature()}"
            return answer(start_response, "500 INTERNAL SERVER ERROR", text)

    return respond


def answer(start_response, status, text):
    body = (text + "\n").encode()
    start_response(
        status,
        [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("X-Superset-Version", release.VERSION),
            ("X-Superset-Pod", release.POD),
        ],
    )
    return [body]


def home(store, query):
    """Return the page after a requested pause. It reads every secret of the metastore."""
    pause = milliseconds(query)
    if pause:
        print(f"superset: pauses for {pause} ms", flush=True)
        time.sleep(pause / 1000)
    return f"superset page: {release.signature()} databases={store.opened()}"


def health(_store, _query):
    """Report that the server runs. As in Superset, the metastore does not affect it."""
    return "OK"


def through_worker(_store, query):
    """Return the result of a query that a Celery worker runs."""
    from superset.tasks.celery_app import run_query

    return "superset async: " + run_query.delay(milliseconds(query)).get(timeout=30)


def milliseconds(query):
    return min(int(query.get("sleep_ms", ["0"])[0]), LONGEST_SLEEP_MS)
