"""The configuration of gunicorn, which lets a web server end soon after its last request."""

import time

# How many seconds a connection without a request stays open after SIGTERM.
IDLE = 1


def post_worker_init(worker):
    """Ends the wait for idle connections: gunicorn 26 waits for its clients to close them, up to --graceful-timeout."""
    wait = getattr(worker, "wait_for_and_dispatch_events", None)
    if wait is None or not hasattr(worker, "keepalived_conns"):
        return
    since = None

    def dispatch(timeout):
        nonlocal since
        if not worker.alive:
            since = since or time.monotonic()
            if time.monotonic() - since >= IDLE:
                for connection in worker.keepalived_conns:
                    connection.timeout = 0
            timeout = min(timeout, 0.1)
        wait(timeout)

    worker.wait_for_and_dispatch_events = dispatch
