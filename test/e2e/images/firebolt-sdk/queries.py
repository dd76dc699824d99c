"""Queries an engine through a gateway with Firebolt's own client, and reports each result to a load generator.

Usage: queries.py GATEWAY_URL ENGINE ANSWERED_URL EXECUTED_URL   the last two are paths of the load generator
"""

import itertools
import json
import sys
import time
from urllib.error import URLError
from urllib.request import Request, urlopen

from firebolt.client.auth import FireboltCore
from firebolt.db import connect

TIMEOUT = 40  # seconds, as of the load generator
INTERVAL = 0.2  # seconds between queries

gateway, engine, answered, executed = sys.argv[1:]


def query(connection, number):
    """Returns the class of the result, and a description of a failure."""
    cursor = connection.cursor()
    try:
        cursor.execute("SELECT ?", (number,), timeout_seconds=TIMEOUT)
        rows = cursor.fetchall()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return ("sdk stopped" if "no healthy upstream" in text else "sdk error"), text
    # A stub engine returns a row with its pod and the query.
    if len(rows) == 1 and rows[0][1] == f"SELECT {number}":
        return "sdk row", ""
    return "sdk error", f"unexpected rows {rows}"


def report(answer):
    """Reports an answer; the load generator may start later than this program."""
    while True:
        try:
            urlopen(Request(answered, json.dumps(answer).encode()), timeout=TIMEOUT).close()
            return
        except URLError as error:
            print("report an answer:", error, flush=True)
            time.sleep(INTERVAL)


with connect(auth=FireboltCore(), url=gateway) as connection:
    headers = connection._client.headers
    headers["X-Firebolt-Engine"] = engine
    for number in itertools.count(1):
        name = f"sdk-{number}"
        headers["X-Stub-Execution-Url"] = f"{executed}?id={name}"
        start = time.monotonic()
        kind, detail = query(connection, number)
        report(
            {
                "id": name,
                "class": kind,
                "good": kind == "sdk row",
                "seconds": time.monotonic() - start,
                "detail": detail,
            }
        )
        time.sleep(INTERVAL)
