"""The metastore: its tables, its schema revision, and the switches with which scenarios request failures."""

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy_utils import EncryptedType

from superset import release


class Behind(Exception):
    """The schema is older than the release."""


class Metastore:
    def __init__(self, settings):
        self.settings = settings
        self.engine = sa.create_engine(settings["SQLALCHEMY_DATABASE_URI"], **settings["SQLALCHEMY_ENGINE_OPTIONS"])
        self.tables = sa.MetaData()
        encrypted = lambda length: EncryptedType(sa.String(length), settings["SECRET_KEY"])  # noqa: E731
        self.databases = sa.Table(
            "dbs",
            self.tables,
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("database_name", sa.String(250)),
            sa.Column("password", encrypted(1024)),
            sa.Column("encrypted_extra", encrypted(4096)),
        )
        if release.VERSION != "6.0.0":
            self.databases.append_column(sa.Column("configuration_method", sa.String(255)))
        # These tables stay empty. The re-encryption of secrets must find them too.
        self.tunnels = sa.Table(
            "ssh_tunnels", self.tables, sa.Column("id", sa.Integer, primary_key=True), sa.Column("password", encrypted(1024))
        )
        self.tokens = sa.Table(
            "database_user_oauth2_tokens",
            self.tables,
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("access_token", encrypted(4096)),
        )
        self.users = sa.Table(
            "ab_user",
            self.tables,
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("first_name", sa.String(64)),
            sa.Column("last_name", sa.String(64)),
            sa.Column("username", sa.String(64)),
            sa.Column("password", sa.String(256)),
            sa.Column("email", sa.String(320)),
        )
        self.roles = sa.Table(
            "ab_role", self.tables, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(64))
        )
        self.reports = sa.Table(
            "report_execution_log",
            self.tables,
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("scheduled_at", sa.String(32)),
            sa.Column("worker", sa.String(255)),
        )

    def script(self):
        config = Config()
        config.set_main_option("script_location", str(release.HERE / "migrations"))
        config.set_main_option("version_path_separator", "space")
        config.set_main_option("version_locations", " ".join(release.migration_folders()))
        return config

    def upgrade(self):
        """Upgrade the schema to the revision of the release, in one transaction if the database has transactional DDL."""
        with self.engine.begin() as connection:
            config = self.script()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def require_schema(self):
        """Raise Behind if the schema is older than the release. A newer schema is accepted."""
        script = ScriptDirectory.from_config(self.script())
        known = [revision.revision for revision in script.walk_revisions()]
        with self.engine.connect() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
        if found is None or found in known[1:]:
            raise Behind(f"the schema is at {found}, version {release.VERSION} wants {known[0]}: run superset db upgrade")

    def switch(self, name):
        """Return the value of a row of the table stub_switches, or None."""
        with self.engine.connect() as connection:
            if not sa.inspect(connection).has_table("stub_switches"):
                return None
            row = connection.execute(sa.text("SELECT value FROM stub_switches WHERE name = :name"), {"name": name}).first()
            return row and row[0]

    def opened(self):
        """Decrypt every secret with the current key and return the number of rows. Raise ValueError for a wrong secret.

        The cipher does not detect a wrong key, so each password contains the name of its database.
        """
        with self.engine.connect() as connection:
            rows = connection.execute(sa.select(self.databases)).fetchall()
        for row in rows:
            if row.password != secret_of(row.database_name):
                raise ValueError(f"the password of database {row.database_name} is not what was stored")
        return len(rows)


def secret_of(database):
    return f"the password of {database}"
