"""Connects each client of the loaded application to Valkey. Prints what became of it, as one line of JSON."""

import json

from superset.tasks.celery_app import app as celery, flask_app


def outcome(connect):
    try:
        connect()
    except Exception as failure:
        text = repr(failure)
        if "certificate verify failed" in text:
            return "host name" if "mismatch" in text or "not valid for" in text else "certificate"
        return text
    return "connected"


with flask_app.app_context():
    from superset.extensions import cache_manager, results_backend_manager

    print(
        json.dumps(
            {
                "broker": outcome(lambda: celery.connection().ensure_connection(max_retries=1, timeout=5)),
                "cache": outcome(lambda: cache_manager.cache.cache._write_client.ping()),
                "celery results": outcome(lambda: celery.backend.client.ping()),
                "data cache": outcome(lambda: cache_manager.data_cache.cache._write_client.ping()),
                "results": outcome(lambda: results_backend_manager.results_backend._write_client.ping()),
            },
            sort_keys=True,
        )
    )
