import os
from urllib.parse import quote
from cachelib.redis import RedisCache

# Operator-generated configs
SECRET_KEY = os.environ["SUPERSET_OPERATOR__SECRET_KEY"]
SQLALCHEMY_DATABASE_URI = os.environ["SUPERSET_OPERATOR__DB_URI"]
SQLALCHEMY_EXAMPLES_URI = SQLALCHEMY_DATABASE_URI
SQLALCHEMY_ENGINE_OPTIONS = {
    "pool_size": 1,
    "max_overflow": -1,
    "pool_recycle": 3600,
    "pool_pre_ping": False,
}
_valkey_url = (
    "redis://"
    + quote(os.environ.get("SUPERSET_OPERATOR__VALKEY_USER", ""), safe="")
    + (":" + quote(os.environ.get("SUPERSET_OPERATOR__VALKEY_PASS", ""), safe="") if "SUPERSET_OPERATOR__VALKEY_PASS" in os.environ else "")
    + ("@" if "SUPERSET_OPERATOR__VALKEY_USER" in os.environ or "SUPERSET_OPERATOR__VALKEY_PASS" in os.environ else "")
    + os.environ["SUPERSET_OPERATOR__VALKEY_HOST"]
    + ":" + os.environ["SUPERSET_OPERATOR__VALKEY_PORT"]
)
_valkey_prefix = os.environ["SUPERSET_OPERATOR__INSTANCE_NAME"] + "_"
CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 300,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_",
    "CACHE_REDIS_URL": _valkey_url + "/1",
}
DATA_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 86400,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_data_",
    "CACHE_REDIS_URL": _valkey_url + "/2",
}
FILTER_STATE_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 3600,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_filter_",
    "CACHE_REDIS_URL": _valkey_url + "/3",
}
EXPLORE_FORM_DATA_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 3600,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_explore_",
    "CACHE_REDIS_URL": _valkey_url + "/4",
}
THUMBNAIL_CACHE_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 3600,
    "CACHE_KEY_PREFIX": _valkey_prefix + "superset_thumbnail_",
    "CACHE_REDIS_URL": _valkey_url + "/5",
}
DISTRIBUTED_COORDINATION_CONFIG = {
    "CACHE_TYPE": "RedisCache",
    "CACHE_DEFAULT_TIMEOUT": 300,
    "CACHE_KEY_PREFIX": _valkey_prefix + "coordination_",
    "CACHE_REDIS_URL": _valkey_url + "/7",
    "CACHE_REDIS_HOST": os.environ["SUPERSET_OPERATOR__VALKEY_HOST"],
    "CACHE_REDIS_PORT": int(os.environ["SUPERSET_OPERATOR__VALKEY_PORT"]),
    "CACHE_REDIS_DB": 7,
    "CACHE_REDIS_USER": os.environ.get("SUPERSET_OPERATOR__VALKEY_USER"),
    "CACHE_REDIS_PASSWORD": os.environ.get("SUPERSET_OPERATOR__VALKEY_PASS"),
}


class CeleryConfig:
    broker_url = _valkey_url + "/0"
    result_backend = _valkey_url + "/0"


CELERY_CONFIG = CeleryConfig
RESULTS_BACKEND = RedisCache(
    host=os.environ["SUPERSET_OPERATOR__VALKEY_HOST"],
    port=int(os.environ["SUPERSET_OPERATOR__VALKEY_PORT"]),
    username=os.environ.get("SUPERSET_OPERATOR__VALKEY_USER"),
    password=os.environ.get("SUPERSET_OPERATOR__VALKEY_PASS"),
    db=6,
    key_prefix=_valkey_prefix + "superset_results_",
)

