"""Asks an engine by Firebolt's own client: URL ENGINE QUERIES. ENGINE selects the engine of a gateway; "" means that the
URL is an engine's own. Prints a line of JSON for each query: its rows, or its error."""

import json
import sys

from firebolt.client.auth import FireboltCore
from firebolt.db import connect

url, engine, queries = sys.argv[1:]
with connect(auth=FireboltCore(), url=url) as connection:
    if engine:
        connection._client.headers["X-Firebolt-Engine"] = engine
    for number in range(int(queries)):
        cursor = connection.cursor()
        try:
            cursor.execute("SELECT pod FROM nodes WHERE number = ? AND name = ?", (number, "it's"))
            answer = {"rows": cursor.fetchall(), "columns": [column.name for column in cursor.description]}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer))
