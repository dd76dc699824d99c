"""The command superset, with the subcommands that the operator's Jobs and Deployments call."""

import hashlib
import logging
import os
import sys
import time

import click
import sqlalchemy as sa

from superset import config, mcp_service, release
from superset.metastore import Behind, Metastore, secret_of

ROLES = ("Admin", "Alpha", "Gamma", "Public", "sql_lab")
DATABASES = ("warehouse", "billing", "clicks")


def store():
    return Metastore(config.load())


@click.group()
def superset():
    """The stub of Apache Superset."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s [%(name)s] %(message)s")


@superset.command()
def version():
    click.echo(f"Superset {release.VERSION} (stub)")


@superset.group()
def db():
    """Manage the schema of the metastore."""


@db.command()
def upgrade():
    """Upgrade the schema to this release."""
    metastore = store()
    # Rows of stub_switches make the task slow or make it fail: see README.md.
    time.sleep(float(metastore.switch("slow_migration_seconds") or 0))
    failure = metastore.switch("fail_migration")
    if failure:
        sys.exit(f"db upgrade: a switch makes it fail: {failure}")
    metastore.upgrade()
    click.echo(f"db upgrade: the schema is that of {release.VERSION}")


@superset.command()
def init():
    """Create the roles, and the connections whose secrets the pages read."""
    metastore = store()
    metastore.require_schema()
    with metastore.engine.begin() as connection:
        present = set(connection.execute(sa.select(metastore.roles.c.name)).scalars())
        for name in ROLES:
            if name not in present:
                connection.execute(metastore.roles.insert().values(name=name))
        if connection.execute(sa.select(sa.func.count()).select_from(metastore.databases)).scalar() == 0:
            add_databases(metastore, connection, DATABASES)
    click.echo("init: done")


@superset.command("load-examples")
def load_examples():
    """Add the connection of the example database."""
    metastore = store()
    with metastore.engine.begin() as connection:
        names = sa.select(metastore.databases.c.database_name)
        if "examples" not in set(connection.execute(names).scalars()):
            add_databases(metastore, connection, ["examples"])
    click.echo("load-examples: done")


def add_databases(metastore, connection, names):
    for name in names:
        secret = secret_of(name)
        connection.execute(metastore.databases.insert().values(database_name=name, password=secret, encrypted_extra=secret))


@superset.command("re-encrypt-secrets")
@click.option("--previous_secret_key", "-a")
def re_encrypt_secrets(previous_secret_key):
    """Change nothing and succeed, as in 6.0 and 6.1, which search for encrypted columns in the wrong place."""
    if not (previous_secret_key or store().settings["PREVIOUS_SECRET_KEY"]):
        sys.exit("A previous secret key must be provided")


@superset.group("mcp")
def mcp_group():
    """Run the MCP server."""


@mcp_group.command()
@click.option("--host", default="127.0.0.1")
@click.option("--port", type=int, default=5008)
def run(host, port):
    metastore = store()
    metastore.require_schema()
    mcp_service.run(metastore, host, port)


@superset.group()
def fab():
    """Manage users."""


@fab.command("create-admin")
@click.option("--username", required=True)
@click.option("--firstname", required=True)
@click.option("--lastname", required=True)
@click.option("--email", required=True)
@click.option("--password", prompt=True, hide_input=True, confirmation_prompt=True)
def create_admin(username, firstname, lastname, email, password):
    """Create an administrator. As in Superset, only the output shows whether it was created."""
    metastore = store()
    users, salt = metastore.users, os.urandom(16)
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 100_000)
    same = sa.select(users.c.id).where(sa.or_(users.c.username == username, users.c.email == email))
    with metastore.engine.begin() as connection:
        if connection.execute(same).first():
            click.echo(f"Error! User already exists {username}")
            return
        connection.execute(
            users.insert().values(
                username=username, first_name=firstname, last_name=lastname, email=email, password=f"{salt.hex()}${digest.hex()}"
            )
        )
    click.echo(f"Admin User {username} created.")


@fab.command("list-users")
def list_users():
    metastore = store()
    with metastore.engine.connect() as connection:
        for user in connection.execute(sa.select(metastore.users)):
            click.echo(f"username:{user.username} | email:{user.email} | role:[Admin]")


def main():
    try:
        superset()
    except (Behind, config.Invalid) as problem:
        sys.exit(f"superset: {problem}")
