"""Checks that this image can run with its configuration, metastore and broker.

Usage: preflight.py once|wait

It loads the configuration alone, not the application, and changes nothing. Each server has 10 s to answer; with "wait"
one that does not is tried again for a minute, since the database of a new installation may still start.

The last line of the output of a failed check names the cause and the remedy. It contains no secret.
"""

import glob
import importlib.util
import logging
import os
import re
import shutil
import sys
import traceback

from superset_preflight_servers import PREFIX, Broker, Metastore, Refused, described, until_answered

SECRETS = ("SECRET_KEY", "PREVIOUS_SECRET_KEY", "DB_URI", "DB_PASS", "VALKEY_PASS")
SHORTEST = 32  # bytes of the secret of asynchronous queries
PUBLISHED = "test-guest-secret-change-me"


def masked(text, config=None):
    """Removes secrets that a library may have put in its message."""
    found = [os.environ.get(PREFIX + name) for name in SECRETS]
    found += [getattr(config, name, None) for name in ("SECRET_KEY", "SQLALCHEMY_DATABASE_URI")]
    for secret in found:
        if isinstance(secret, str) and len(secret) > 3:
            text = text.replace(secret, "***")
    return re.sub(r"(\w+://[^\s:/@]*):\S*@", r"\1:***@", text)


def load():
    """Returns the module superset.config, which runs superset_config.py."""
    if importlib.util.find_spec("superset") is None or shutil.which("superset") is None:
        raise Refused("the image contains no Superset: correct spec.image")
    logging.disable()  # Superset logs the error of the configuration as it is
    try:
        import superset.config
    except (Exception, SystemExit) as error:
        print(masked("".join(traceback.format_exception(type(error), error, error.__traceback__))), file=sys.stderr, flush=True)
        path = os.environ.get("SUPERSET_CONFIG_PATH", "")
        name = os.path.basename(path)
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        if isinstance(error, SyntaxError) and error.filename == path:
            raise Refused(f"{name} fails: line {error.lineno}: SyntaxError: {error.msg}. Correct spec.config")
        if lines:
            raise Refused(f"{name} fails: line {lines[-1]}: {described(error)}. Correct spec.config or the image")
        raise Refused(f"Superset cannot be imported: {described(error)}. Correct spec.image")
    logging.disable(logging.NOTSET)
    return superset.config


def check_components():
    """Checks the syntax of the configurations that only a component has. They may need its environment to run."""
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "spec.*.config"))):
        with open(path, encoding="utf-8") as file:
            try:
                compile(file.read(), path, "exec")
            except SyntaxError as error:
                name = os.path.basename(path)
                raise Refused(f"{name} fails: line {error.lineno}: SyntaxError: {error.msg}. Correct {name}")


def check_features(config):
    """Refuses features whose own settings keep each process from starting, or let anyone sign tokens."""
    flags = {**getattr(config, "DEFAULT_FEATURE_FLAGS", {}), **(getattr(config, "FEATURE_FLAGS", None) or {})}
    secret = getattr(config, "GLOBAL_ASYNC_QUERIES_JWT_SECRET", None) or ""
    if flags.get("GLOBAL_ASYNC_QUERIES") and len(secret) < SHORTEST:
        raise Refused(
            f"the feature GLOBAL_ASYNC_QUERIES requires a GLOBAL_ASYNC_QUERIES_JWT_SECRET of {SHORTEST} or more bytes:"
            " set it in spec.config, or disable the feature"
        )
    if flags.get("EMBEDDED_SUPERSET") and getattr(config, "GUEST_TOKEN_JWT_SECRET", None) == PUBLISHED:
        raise Refused(
            "the feature EMBEDDED_SUPERSET has the published GUEST_TOKEN_JWT_SECRET, with which anyone can sign in as a guest:"
            " set it in spec.config, or disable the feature"
        )


def require_mcp_server():
    if os.environ.get(PREFIX + "SERVES_MCP") == "true" and importlib.util.find_spec("superset.mcp_service") is None:
        raise Refused("the image contains no MCP server, which Superset has since 6.1: remove spec.mcpServer or correct spec.image")


def check(mode):
    config = load()
    check_components()
    check_features(config)
    require_mcp_server()
    try:
        metastore = Metastore(config)
        if metastore.kind != "sqlite":
            remedy = "start it, allow the connection, or correct spec.metastore"
            until_answered("metastore", metastore.where, remedy, mode, metastore.check)
        broker = Broker(getattr(config, "CELERY_CONFIG", None) or {})
        if broker.checked:
            remedy = "start it, allow the connection, or correct spec.valkey"
            until_answered("broker", broker.where, remedy, mode, broker.check)
    except Refused as refused:
        raise Refused(masked(str(refused), config)) from None


def main():
    status = 0
    try:
        check(sys.argv[1])
        print("preflight: the image, the configuration, the metastore and the broker fit", flush=True)
    except Refused as refused:
        status = 1
        print(f"preflight: {masked(str(refused))}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(status)  # a thread may still wait for a server


if __name__ == "__main__":
    main()
