import atexit
import gc
import os
import sys
import traceback
from urllib.parse import quote, urlencode
from cachelib.redis import RedisCache
from superset.config import CeleryConfig as SupersetCeleryConfig

# Operator-generated configs
SECRET_KEY = os.environ["SUPERSET_OPERATOR__SECRET_KEY"]
os.environ.pop("SUPERSET__SQLALCHEMY_DATABASE_URI", None)
SQLALCHEMY_DATABASE_URI = os.environ["SUPERSET_OPERATOR__DB_URI"]
SQLALCHEMY_ENGINE_OPTIONS = {
}
if not SQLALCHEMY_DATABASE_URI.startswith("sqlite"):
    SQLALCHEMY_ENGINE_OPTIONS.update({
        "pool_size": 5,
        "max_overflow": -1,
        "pool_recycle": 3600,
        "pool_pre_ping": False,
    })
_database_driver = SQLALCHEMY_DATABASE_URI.partition(":")[0]
if _database_driver in ("postgresql", "postgresql+psycopg2", "postgresql+psycopg", "mysql", "mysql+mysqldb", "mysql+pymysql") and "connect_timeout=" not in SQLALCHEMY_DATABASE_URI:
    SQLALCHEMY_ENGINE_OPTIONS["connect_args"] = {"connect_timeout": 10}
if _database_driver.startswith("mysql"):
    SQLALCHEMY_ENGINE_OPTIONS["isolation_level"] = "READ COMMITTED"
WEBDRIVER_BASEURL = "http://try-web-server:8088/"
WEBDRIVER_BASEURL_USER_FRIENDLY = "http://try-web-server:8088/"
RATELIMIT_APPLICATION = None
_valkey_url = (
    "redis://"
    + quote(os.environ.get("SUPERSET_OPERATOR__VALKEY_USER", ""), safe="")
    + (":" + quote(os.environ.get("SUPERSET_OPERATOR__VALKEY_PASS", ""), safe="") if "SUPERSET_OPERATOR__VALKEY_PASS" in os.environ else "")
    + ("@" if "SUPERSET_OPERATOR__VALKEY_USER" in os.environ or "SUPERSET_OPERATOR__VALKEY_PASS" in os.environ else "")
    + os.environ["SUPERSET_OPERATOR__VALKEY_HOST"]
    + ":" + os.environ["SUPERSET_OPERATOR__VALKEY_PORT"]
)
_valkey_prefix = os.environ["SUPERSET_OPERATOR__INSTANCE_NAME"] + "_"
_valkey_timeouts = {
    "socket_connect_timeout": 5,
    "socket_timeout": 15,
}
_valkey_query = "?" + urlencode(_valkey_timeouts, quote_via=quote)
CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 300,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_",
    "CACHE_REDIS_URL": _valkey_url + "/1" + _valkey_query,
}
DATA_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 86400,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_data_",
    "CACHE_REDIS_URL": _valkey_url + "/2" + _valkey_query,
}
FILTER_STATE_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 7776000,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_filter_",
    "CACHE_REDIS_URL": _valkey_url + "/3" + _valkey_query,
    "REFRESH_TIMEOUT_ON_RETRIEVAL": True,
}
EXPLORE_FORM_DATA_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 604800,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_explore_",
    "CACHE_REDIS_URL": _valkey_url + "/4" + _valkey_query,
    "REFRESH_TIMEOUT_ON_RETRIEVAL": True,
}
THUMBNAIL_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 604800,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_thumbnail_",
    "CACHE_REDIS_URL": _valkey_url + "/5" + _valkey_query,
}
DISTRIBUTED_COORDINATION_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 300,
    "CACHE_KEY_PREFIX": _valkey_prefix + "coordination_",
    "CACHE_REDIS_URL": _valkey_url + "/7" + _valkey_query,
    "CACHE_REDIS_HOST": os.environ["SUPERSET_OPERATOR__VALKEY_HOST"],
    "CACHE_REDIS_PORT": int(os.environ["SUPERSET_OPERATOR__VALKEY_PORT"]),
    "CACHE_REDIS_DB": 7,
    "CACHE_REDIS_USER": os.environ.get("SUPERSET_OPERATOR__VALKEY_USER"),
    "CACHE_REDIS_PASSWORD": os.environ.get("SUPERSET_OPERATOR__VALKEY_PASS"),
}


class CeleryConfig(SupersetCeleryConfig):
    broker_url = _valkey_url + "/0"
    broker_transport_options = {"socket_connect_timeout": 5, "socket_timeout": 30, "socket_keepalive": True}
    result_backend = _valkey_url + "/0"
    redis_socket_connect_timeout = 5
    redis_socket_timeout = 30


CELERY_CONFIG = CeleryConfig
RESULTS_BACKEND = RedisCache(
    host=os.environ["SUPERSET_OPERATOR__VALKEY_HOST"],
    port=int(os.environ["SUPERSET_OPERATOR__VALKEY_PORT"]),
    username=os.environ.get("SUPERSET_OPERATOR__VALKEY_USER"),
    password=os.environ.get("SUPERSET_OPERATOR__VALKEY_PASS"),
    db=6,
    key_prefix=_valkey_prefix + "superset_results_",
    **_valkey_timeouts,
)
atexit.register(gc.freeze)


def _print_cause(kind, error, trace):
    sys.__excepthook__(kind, error, trace)
    cause = error
    while cause.__cause__:
        cause = cause.__cause__
    if cause is not error:
        print(*traceback.format_exception_only(cause), sep="", end="", file=sys.stderr)


sys.excepthook = _print_cause



_mcp_auth_factory = globals().get("MCP_AUTH_FACTORY")


def _require_mcp_auth(app):
    try:
        factory = _mcp_auth_factory
        if factory is None:
            from superset.mcp_service.mcp_config import create_default_mcp_auth_factory as factory
        provider = factory(app)
    except Exception as error:
        sys.exit("the authentication of the MCP server fails: " + type(error).__name__ + ". Correct MCP_AUTH_FACTORY in spec.mcpServer.config")
    if provider is None:
        sys.exit(
            "the MCP server has no authentication: set MCP_AUTH_ENABLED = True and MCP_JWT_SECRET, MCP_JWT_PUBLIC_KEY or"
            " MCP_JWKS_URI in spec.mcpServer.config. MCP_AUTH_ENABLED = False serves everybody"
        )
    return provider


if globals().get("MCP_AUTH_ENABLED") is not False:
    MCP_AUTH_FACTORY = _require_mcp_auth
