"""Which release this image is, and which migrations belong to it."""

import os
import socket
from pathlib import Path

HERE = Path(__file__).parent

# A release knows the migrations of those before it, and none of those after.
MIGRATIONS = {
    "6.0.0": ("6_0",),
    "6.1.0": ("6_0", "6_1"),
    "6.2.0": ("6_0", "6_1", "broken"),
}

VERSION = os.environ.get("STANDIN_VERSION") or (HERE / "VERSION").read_text().strip()
POD = os.environ.get("POD_NAME") or socket.gethostname()


def migration_folders():
    """The folders of the release's migrations; KeyError where the release is none of ours."""
    return [str(HERE / "migrations" / "versions" / name) for name in MIGRATIONS[VERSION]]


def signature():
    """What every answer says, so that a client can tell releases and pods apart."""
    return f"version={VERSION} pod={POD}"
