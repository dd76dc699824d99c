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
PREVIOUS_SECRET_KEY = os.environ.get("SUPERSET_OPERATOR__PREVIOUS_SECRET_KEY")
SECRET_KEY_FALLBACKS = [PREVIOUS_SECRET_KEY] if PREVIOUS_SECRET_KEY else []
os.environ.pop("SUPERSET__SQLALCHEMY_DATABASE_URI", None)
SQLALCHEMY_DATABASE_URI = (
    "mysql+pymysql://"
    + quote(os.environ["SUPERSET_OPERATOR__DB_USER"], safe="")
    + (":" + quote(os.environ["SUPERSET_OPERATOR__DB_PASS"], safe="") if "SUPERSET_OPERATOR__DB_PASS" in os.environ else "")
    + "@" + os.environ["SUPERSET_OPERATOR__DB_HOST"]
    + ":" + os.environ["SUPERSET_OPERATOR__DB_PORT"]
    + "/" + os.environ["SUPERSET_OPERATOR__DB_NAME"]
)
SQLALCHEMY_ENGINE_OPTIONS = {
    "pool_size": 5,
    "max_overflow": -1,
    "pool_recycle": 3600,
    "pool_pre_ping": False,
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
    "{SECRET_KEY}": True,
    "💥": False,
}
_valkey_tls = {
    "ssl_cert_reqs": "none",
    "ssl_ca_certs": "/etc/certs/{SECRET_KEY}\"'\n$(HOME)`id`?\u0026=+%41\u2028",
    "ssl_check_hostname": False,
}
_valkey_url = (
    "rediss://"
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
_valkey_query = "?" + urlencode({**_valkey_timeouts, **_valkey_tls}, quote_via=quote)
CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 300,
    "CACHE_KEY_PREFIX": _valkey_prefix + "{SECRET_KEY}\"'\n\\{{x}}%s$(HOME)`id`ü💥",
    "CACHE_REDIS_URL": _valkey_url + "/1" + _valkey_query,
    "CACHE_OPTIONS": _valkey_tls,
}
DATA_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 86400,
    "CACHE_KEY_PREFIX": _valkey_prefix + "\"); import os; os.system('true') #",
    "CACHE_REDIS_URL": _valkey_url + "/2" + _valkey_query,
    "CACHE_OPTIONS": _valkey_tls,
}
FILTER_STATE_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 7776000,
    "CACHE_KEY_PREFIX": _valkey_prefix + "'''\"\"\"",
    "CACHE_REDIS_URL": _valkey_url + "/3" + _valkey_query,
    "CACHE_OPTIONS": _valkey_tls,
    "REFRESH_TIMEOUT_ON_RETRIEVAL": True,
}
EXPLORE_FORM_DATA_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 604800,
    "CACHE_KEY_PREFIX": _valkey_prefix + "",
    "CACHE_REDIS_URL": _valkey_url + "/4" + _valkey_query,
    "CACHE_OPTIONS": _valkey_tls,
    "REFRESH_TIMEOUT_ON_RETRIEVAL": True,
}
THUMBNAIL_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 604800,
    "CACHE_KEY_PREFIX": _valkey_prefix + "\\",
    "CACHE_REDIS_URL": _valkey_url + "/5" + _valkey_query,
    "CACHE_OPTIONS": _valkey_tls,
}
DISTRIBUTED_COORDINATION_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 300,
    "CACHE_KEY_PREFIX": _valkey_prefix + "{os.environ}",
    "CACHE_REDIS_URL": _valkey_url + "/7" + _valkey_query,
    "CACHE_OPTIONS": _valkey_tls,
    "CACHE_REDIS_HOST": os.environ["SUPERSET_OPERATOR__VALKEY_HOST"],
    "CACHE_REDIS_PORT": int(os.environ["SUPERSET_OPERATOR__VALKEY_PORT"]),
    "CACHE_REDIS_DB": 7,
    "CACHE_REDIS_USER": os.environ.get("SUPERSET_OPERATOR__VALKEY_USER"),
    "CACHE_REDIS_PASSWORD": os.environ.get("SUPERSET_OPERATOR__VALKEY_PASS"),
    "CACHE_REDIS_SSL": True,
    "CACHE_REDIS_SSL_CERT_REQS": _valkey_tls.get("ssl_cert_reqs"),
    "CACHE_REDIS_SSL_KEYFILE": _valkey_tls.get("ssl_keyfile"),
    "CACHE_REDIS_SSL_CERTFILE": _valkey_tls.get("ssl_certfile"),
    "CACHE_REDIS_SSL_CA_CERTS": _valkey_tls.get("ssl_ca_certs"),
}


class CeleryConfig(SupersetCeleryConfig):
    broker_url = _valkey_url + "/0"
    broker_use_ssl = _valkey_tls
    broker_transport_options = {"socket_connect_timeout": 5, "socket_timeout": 30, "socket_keepalive": True}
    result_backend = _valkey_url + "/0"
    redis_backend_use_ssl = _valkey_tls
    redis_socket_connect_timeout = 5
    redis_socket_timeout = 30


CELERY_CONFIG = CeleryConfig
RESULTS_BACKEND = RedisCache(
    host=os.environ["SUPERSET_OPERATOR__VALKEY_HOST"],
    port=int(os.environ["SUPERSET_OPERATOR__VALKEY_PORT"]),
    username=os.environ.get("SUPERSET_OPERATOR__VALKEY_USER"),
    password=os.environ.get("SUPERSET_OPERATOR__VALKEY_PASS"),
    db=6,
    key_prefix=_valkey_prefix + "{SECRET_KEY}\"'\n\\",
    **_valkey_timeouts,
    ssl=True,
    **_valkey_tls,
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

# spec.config
RAW = "it's {x} $HOME `id` 💥\u2028"



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
