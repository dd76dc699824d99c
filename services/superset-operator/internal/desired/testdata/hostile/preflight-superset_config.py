import atexit
import gc
import os
import sys
import traceback
from urllib.parse import quote
from sqlalchemy.pool import NullPool

# Operator-generated configs
SECRET_KEY = os.environ["SUPERSET_OPERATOR__SECRET_KEY"]
PREVIOUS_SECRET_KEY = os.environ.get("SUPERSET_OPERATOR__PREVIOUS_SECRET_KEY")
SECRET_KEY_FALLBACKS = [PREVIOUS_SECRET_KEY] if PREVIOUS_SECRET_KEY else []
os.environ.pop("SUPERSET__SQLALCHEMY_DATABASE_URI", None)
SQLALCHEMY_DATABASE_URI = (
    "postgresql+asyncpg://"
    + quote(os.environ["SUPERSET_OPERATOR__DB_USER"], safe="")
    + (":" + quote(os.environ["SUPERSET_OPERATOR__DB_PASS"], safe="") if "SUPERSET_OPERATOR__DB_PASS" in os.environ else "")
    + "@" + os.environ["SUPERSET_OPERATOR__DB_HOST"]
    + ":" + os.environ["SUPERSET_OPERATOR__DB_PORT"]
    + "/" + os.environ["SUPERSET_OPERATOR__DB_NAME"]
)
SQLALCHEMY_ENGINE_OPTIONS = {
    "poolclass": NullPool,
}
_database_driver = SQLALCHEMY_DATABASE_URI.partition(":")[0]
if _database_driver in ("postgresql", "postgresql+psycopg2", "postgresql+psycopg", "mysql", "mysql+mysqldb", "mysql+pymysql") and "connect_timeout=" not in SQLALCHEMY_DATABASE_URI:
    SQLALCHEMY_ENGINE_OPTIONS["connect_args"] = {"connect_timeout": 10}
if _database_driver.startswith("mysql"):
    SQLALCHEMY_ENGINE_OPTIONS["isolation_level"] = "READ COMMITTED"
WEBDRIVER_BASEURL = "http://hostile-web-server:8088/"
WEBDRIVER_BASEURL_USER_FRIENDLY = "http://hostile-web-server:8088/"
RATELIMIT_APPLICATION = None
FEATURE_FLAGS = {
    "QUOTE'\"\n__import__('os').system('true')#": True,
    "back\\slash": True,
    "💥": False,
}
atexit.register(gc.freeze)


def _print_cause(kind, error, trace):
    sys.__excepthook__(kind, error, trace)
    cause = error
    while cause.__cause__:
        cause = cause.__cause__
    if cause is not error:
        print(*traceback.format_exception_only(cause), sep="", end="", file=sys.stderr)


sys.excepthook = _print_cause

