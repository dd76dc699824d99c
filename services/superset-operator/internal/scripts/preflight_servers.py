"""Checks the metastore and the broker of the preflight. Each has 10 s to answer."""

import glob
import importlib.util
import os
import re
import threading
import time

ANSWER, WAIT = 10, 60  # seconds
PREFIX = "SUPERSET_OPERATOR__"
OLDEST = {"postgresql": (10, "PostgreSQL"), "mysql": (5.7, "MySQL")}
PORTS = {"postgresql": 5432, "mysql": 3306}
PACKAGES = {"mysqldb": "mysqlclient", "psycopg2": "psycopg2-binary"}
BROKERS = ("redis", "rediss", "sentinel", "amqp", "amqps", "pyamqp")  # others may have no server, or need more than to connect


class Refused(Exception):
    """States the cause and the remedy in one line."""


class Unanswered(Exception):
    """A server does not answer yet."""


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def described(error):
    return f"{type(error).__name__}: {first_line(error)}"


def code_of(error):
    """Returns the code of a driver's error, which is a number from MySQL and a text from PostgreSQL."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else getattr(error, "pgcode", None)


def names_absent_database(error):
    return code_of(error) == 1049 or re.search(r'database ".*" does not exist', str(error).lower()) is not None


def within(check):
    """Runs a check of a server in a thread, since a driver may block for minutes."""
    result = []

    def run():
        try:
            check()
            result.append(None)
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(ANSWER)
    if not result:
        raise Unanswered("no answer")
    if result[0] is not None:
        raise result[0]


def until_answered(what, where, remedy, mode, check):
    start, announced = time.monotonic(), False
    while True:
        try:
            return within(check)
        except Unanswered as error:
            took = time.monotonic() - start
            if mode != "wait" or took >= WAIT:
                limit = WAIT if mode == "wait" else ANSWER
                raise Refused(f"the {what} does not answer within {limit} s ({where}, {error}): {remedy}") from None
            if not announced:
                print(f"preflight: waiting for the {what} ({where}, {error})", flush=True)
            announced = True
            time.sleep(1)


class Metastore:
    def __init__(self, config):
        import sqlalchemy as sa
        from sqlalchemy.pool import NullPool

        try:
            self.url = sa.engine.make_url(config.SQLALCHEMY_DATABASE_URI)
            self.kind = self.url.get_backend_name().replace("mariadb", "mysql")
        except Exception:  # the message contains the URI
            raise Refused("SQLALCHEMY_DATABASE_URI is not a URL: correct spec.metastore") from None
        if self.kind == "sqlite":
            return
        if self.kind not in OLDEST:
            raise Refused(
                f"the metastore is {self.kind}, which Superset does not support: use PostgreSQL or MySQL,"
                " or set spec.lifecycle.preflight.disabled"
            )
        host = f"[{self.url.host}]" if ":" in (self.url.host or "") else self.url.host
        self.where = f"{host}:{self.url.port or PORTS[self.kind]}"
        self.load_driver()
        options = {"connect_args": (getattr(config, "SQLALCHEMY_ENGINE_OPTIONS", None) or {}).get("connect_args", {})}
        self.engine = sa.create_engine(self.url, poolclass=NullPool, **options)

    def load_driver(self):
        try:
            dialect = self.url.get_dialect()
            (getattr(dialect, "import_dbapi", None) or dialect.dbapi)()
        except Exception as error:
            name = self.url.get_driver_name() if "+" not in self.url.drivername else self.url.drivername.partition("+")[2]
            raise Refused(
                f"the image lacks the driver {PACKAGES.get(name, name)} that spec.metastore names ({first_line(error)}):"
                " correct spec.metastore.driver or spec.image"
            )

    def is_absent(self):
        """Reports whether the server does not have the database."""
        from sqlalchemy.exc import DBAPIError

        if self.kind == "sqlite":
            return False
        try:
            with self.engine.connect():
                return False
        except DBAPIError as error:
            return names_absent_database(error.orig)

    def check(self):
        from sqlalchemy.exc import DBAPIError

        try:
            with self.engine.connect() as connection:
                self.check_version(connection)
                self.check_writable(connection)
                self.check_revision(connection)
        except DBAPIError as error:
            self.refuse(error.orig)

    def refuse(self, error):
        """Raises what an error of the driver means."""
        text = first_line(error).rpartition(" failed: ")[2]
        code = code_of(error)
        low = str(error).lower()
        if names_absent_database(error):
            if os.environ.get(PREFIX + "CREATE_DATABASE") == "true":
                return
            raise Refused(f"the database {self.url.database} does not exist: create it, or set spec.metastore.createDatabase")
        if code in (1044, 1045, 1698) or re.search(r'authentication failed|pg_hba|role ".*" does not exist|no password', low):
            raise Refused(f"the metastore rejects the user or the password ({self.where}): correct spec.metastore")
        if code in ("53100", 1114, 1021, 3675) or "no space left" in low:
            raise Refused(f"the metastore is full ({self.where}): give it more space")
        if code in ("25006", 1290, 1836):
            self.read_only()
        if code == "42501":
            raise Refused(f"the metastore's user may not create tables ({text}): grant it CREATE on the schema")
        if code in (2002, 2003, 2005, 2006, 2013, "57P03") or code is None:
            raise Unanswered("timeout" if "timeout" in low else text)
        raise Refused(f"the metastore fails: {described(error)}")

    def read_only(self):
        raise Refused(f"the metastore is read-only ({self.where}): use the primary server, or allow writes")

    def check_version(self, connection):
        text = connection.exec_driver_sql("SELECT version()").scalar()
        for product in ("MariaDB", "CockroachDB"):
            if product.lower() in text.lower():
                version = re.search(r"\d+\.\d+", text.partition("5.5.5-")[2] or text)
                raise Refused(
                    f"the metastore is {product} {version.group() if version else ''}, which Superset cannot use:"
                    " use PostgreSQL or MySQL"
                )
        oldest, name = OLDEST[self.kind]
        number = float(re.search(r"\d+\.\d+", text).group())
        if number < oldest:
            raise Refused(f"the metastore is {name} {number}, which Superset does not support: use {name} {oldest} or newer")

    def check_writable(self, connection):
        if self.kind == "mysql":
            # Data definitions commit, so nothing is tried.
            if connection.exec_driver_sql("SELECT @@global.read_only OR @@global.innodb_read_only").scalar():
                self.read_only()
            return
        if connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
            self.read_only()
        if os.environ.get(PREFIX + "SKIPS_MIGRATION") == "true":
            return
        # A table that is never committed needs the permission and the space. Its own connection has a transaction that
        # no version of SQLAlchemy commits by itself.
        name = f"flotilla_preflight_{os.getpid()}_{time.time_ns()}"
        with self.engine.connect() as other:
            transaction = other.begin()
            other.exec_driver_sql(f"CREATE TABLE {name} (text text)")
            other.exec_driver_sql(f"INSERT INTO {name} SELECT md5(n::text) FROM generate_series(1, 2000) AS n")
            transaction.rollback()

    def check_revision(self, connection):
        import sqlalchemy as sa

        if os.environ.get(PREFIX + "CLONES") == "true":
            return  # the clone replaces the schema
        revisions = []
        if sa.inspect(connection).has_table("alembic_version"):
            revisions = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
        folder = os.path.dirname(importlib.util.find_spec("superset").origin)
        known, replaced = set(), set()
        for path in glob.glob(os.path.join(folder, "migrations", "**", "*.py"), recursive=True):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            known.update(re.findall(r"""^revision(?:\s*:\s*str)?\s*=\s*["']([^"']+)["']""", text, re.MULTILINE))
            for former in re.findall(r"^down_revision[^=\n]*=\s*(\([^)]*\)|.*)", text, re.MULTILINE):
                replaced.update(re.findall(r"""["']([^"']+)["']""", former))
        # An image without the source of its migrations has no known ones.
        if known and os.environ.get(PREFIX + "MIGRATED") == "true" and replaced.issuperset(revisions):
            raise Refused(
                f"the metastore {self.where}/{self.url.database} is not migrated: correct spec.metastore, or change"
                " spec.lifecycle.migrate.trigger"
            )
        for revision in revisions:
            if known and revision not in known:
                raise Refused(
                    f"the metastore's revision {revision} is unknown to this image: a newer or another release migrated it."
                    " Use that release, or restore a backup"
                )


class Broker:
    def __init__(self, celery):
        get = celery.get if isinstance(celery, dict) else lambda name: getattr(celery, name, None)
        self.url, self.ssl = get("broker_url"), get("broker_use_ssl")
        self.options = get("broker_transport_options")
        self.checked = (self.url or "").partition(":")[0] in BROKERS
        self.where = re.sub(r"^\w+://|[^/]*@|[/?;].*", "", self.url or "")

    def check(self):
        from kombu import Connection

        try:
            with Connection(self.url, ssl=self.ssl, transport_options=self.options, connect_timeout=ANSWER) as connection:
                connection.channel().close()
        except ImportError as error:
            raise Refused(f"the image lacks the driver of the broker ({first_line(error)}): correct spec.image")
        except Exception as error:
            names = {c.__name__ for c in type(error).__mro__}
            if names & {"AuthenticationError", "AccessRefused"} or re.match("WRONGPASS|NOAUTH|AUTH ", str(error)):
                raise Refused(f"the broker rejects the password ({self.where}): correct spec.valkey, or its Secret")
            if names & {"OSError", "ConnectionError", "TimeoutError", "OperationalError"}:
                raise Unanswered(re.sub(r"^Error -?\d+ connecting to \S+ ", "", first_line(error)))
            raise Refused(f"the broker fails ({self.where}): {described(error)}")
