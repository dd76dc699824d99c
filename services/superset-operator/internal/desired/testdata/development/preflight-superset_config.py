import os
from urllib.parse import quote
from sqlalchemy.pool import NullPool

# Operator-generated configs
SECRET_KEY = os.environ["SUPERSET_OPERATOR__SECRET_KEY"]
SQLALCHEMY_DATABASE_URI = (
    "postgresql+psycopg2://"
    + quote(os.environ["SUPERSET_OPERATOR__DB_USER"], safe="")
    + (":" + quote(os.environ["SUPERSET_OPERATOR__DB_PASS"], safe="") if "SUPERSET_OPERATOR__DB_PASS" in os.environ else "")
    + "@" + os.environ["SUPERSET_OPERATOR__DB_HOST"]
    + ":" + os.environ["SUPERSET_OPERATOR__DB_PORT"]
    + "/" + quote(os.environ["SUPERSET_OPERATOR__DB_NAME"], safe="")
)
SQLALCHEMY_EXAMPLES_URI = SQLALCHEMY_DATABASE_URI
SQLALCHEMY_ENGINE_OPTIONS = {
    "poolclass": NullPool,
}
FEATURE_FLAGS = {
    "ENABLE_TEMPLATE_PROCESSING": True,
}

