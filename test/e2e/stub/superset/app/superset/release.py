"""The release of the image, and its migrations."""

import os
import socket
from pathlib import Path

HERE = Path(__file__).parent

# A release has its own migrations and those of earlier releases.
MIGRATIONS = {
    "6.0.0": ("6_0",),
    "6.1.0": ("6_0", "6_1"),
    "6.2.0": ("6_0", "6_1", "broken"),
}

VERSION = os.environ.get("STUB_VERSION") or (HERE / "VERSION").read_text().strip()
POD = os.environ.get("POD_NAME") or socket.gethostname()


def migration_folders():
    """Return the directories of the release's migrations. Raise KeyError for an unknown release."""
    return [str(HERE / "migrations" / "versions" / name) for name in MIGRATIONS[VERSION]]


def signature():
    """Return the release and the pod, which every answer contains."""
    return f"version={VERSION} pod={POD}"
